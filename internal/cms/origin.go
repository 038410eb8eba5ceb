package cms

import (
	"errors"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/net/idna"
)

var (
	errOrigin = errors.New("must be an http or https origin such as https://www.example.com, without path, query, fragment or user info")
	hostLabel = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)
	allDigits = regexp.MustCompile(`^[0-9]+$`)
)

// ParseOrigin reads the origin of a host name, localhost or an IP address and
// returns it in lower case, without a trailing slash, dot or default port.
func ParseOrigin(s string) (string, error) {
	u, err := url.Parse(s)
	if err != nil || len(s) > MaxText || u.Opaque != "" || u.User != nil ||
		strings.ContainsAny(s, "?#@\\ ") || (u.Path != "" && u.Path != "/") {
		return "", errOrigin
	}
	scheme := strings.ToLower(u.Scheme)
	if scheme != "http" && scheme != "https" {
		return "", errOrigin
	}
	host, err := parseHost(u)
	if err != nil {
		return "", err
	}
	port, err := parsePort(u, scheme)
	if err != nil {
		return "", err
	}
	return scheme + "://" + host + port, nil
}

// hostNames reads host names as browsers do, with hyphens in any place.
var hostNames = idna.New(idna.MapForLookup(), idna.BidiRule(), idna.CheckHyphens(false))

func parseHost(u *url.URL) (string, error) {
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	if strings.HasPrefix(u.Host, "[") {
		addr, err := netip.ParseAddr(host)
		if err != nil || !addr.Is6() || addr.Zone() != "" || addr.String() != host {
			return "", errors.New("must have a canonical IP address")
		}
		return "[" + host + "]", nil
	}
	ascii, err := hostNames.ToASCII(host)
	if err != nil || ascii == "" || len(ascii) > 253 {
		return "", errors.New("must have a valid host name")
	}
	labels := strings.Split(ascii, ".")
	for _, label := range labels {
		if !hostLabel.MatchString(label) {
			return "", errors.New("must have a valid host name")
		}
	}
	// Browsers read a last label of digits as an IPv4 address, which is canonical
	// as a dotted quad alone.
	if last := labels[len(labels)-1]; allDigits.MatchString(last) || strings.HasPrefix(last, "0x") {
		if addr, err := netip.ParseAddr(ascii); err != nil || !addr.Is4() {
			return "", errors.New("must have a canonical IP address")
		}
	}
	return ascii, nil
}

func parsePort(u *url.URL, scheme string) (string, error) {
	port := u.Port()
	if port == "" {
		if strings.HasSuffix(u.Host, ":") {
			return "", errOrigin
		}
		return "", nil
	}
	n, err := strconv.Atoi(port)
	if err != nil || n < 1 || n > 65535 {
		return "", errors.New("must have a port between 1 and 65535")
	}
	if (scheme == "http" && n == 80) || (scheme == "https" && n == 443) {
		return "", nil
	}
	return ":" + strconv.Itoa(n), nil
}

// ParseURL reads an absolute http or https address, kept as it was written.
func ParseURL(s string) (string, error) {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.Hostname() == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return "", errors.New("must be an absolute http or https URL")
	}
	if strings.ContainsAny(s, " \t\r\n") {
		return "", errors.New("must not have blanks")
	}
	return s, checkText(s)
}
