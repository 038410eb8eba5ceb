package config

import (
	"fmt"
	"net/netip"
	"net/url"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"
)

// Networks are addresses and networks, separated by commas.
type Networks []netip.Prefix

// UnmarshalText reads networks such as 10.0.0.0/8 and addresses.
func (n *Networks) UnmarshalText(text []byte) (err error) {
	*n, err = items(text, parseNetwork, "a network: write addresses or networks such as 10.0.0.0/8,::1")
	return err
}

func parseNetwork(text string) (netip.Prefix, bool) {
	network, err := netip.ParsePrefix(text)
	if a, failed := netip.ParseAddr(text); failed == nil {
		a = a.Unmap()
		network, err = netip.PrefixFrom(a, a.BitLen()), nil
	}
	return network.Masked(), err == nil && !network.Addr().Is4In6() && !strings.Contains(text, "%")
}

// Origins are web origins, separated by commas, or * for all.
type Origins []string

// UnmarshalText reads origins exactly as browsers send them.
func (o *Origins) UnmarshalText(text []byte) (err error) {
	*o, err = items(text, parseOrigin, "an origin: write origins such as https://www.example.com, or *")
	return err
}

func parseOrigin(text string) (string, bool) {
	u, err := url.Parse(text)
	if text == "*" || err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" {
		return text, text == "*"
	}
	// Browsers send no default port and no upper case. Patterns are not supported.
	standard := u.Port() == map[string]string{"http": "80", "https": "443"}[u.Scheme]
	return text, !standard && !strings.Contains(u.Host, "*") && text == strings.ToLower(u.Scheme+"://"+u.Host)
}

// Names are host names, separated by commas.
type Names []string

var hostName = regexp.MustCompile(`^([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)+[a-z]([a-z0-9-]*[a-z0-9])?$`)

// UnmarshalText reads host names.
func (n *Names) UnmarshalText(text []byte) (err error) {
	isName := func(item string) (string, bool) { return item, hostName.MatchString(item) }
	*n, err = items(text, isName, "a host name: write names such as www.example.com, in lower case")
	return err
}

// items parses the items of a list that is separated by commas, without empty ones.
func items[T any](text []byte, parse func(string) (T, bool), kind string) (list []T, err error) {
	for item := range strings.SplitSeq(string(text), ",") {
		if item = strings.TrimSpace(item); item == "" {
			continue
		}
		value, ok := parse(item)
		if !ok {
			return nil, fmt.Errorf("%q is not %s", item, kind)
		}
		list = append(list, value)
	}
	return list, nil
}

// Durations makes flags of type time.Duration accept days, such as 30d or 1d12h.
var Durations = kong.TypeMapper(reflect.TypeFor[time.Duration](), kong.MapperFunc(func(ctx *kong.DecodeContext, target reflect.Value) error {
	var text string
	if err := ctx.Scan.PopValueInto("duration", &text); err != nil {
		return err
	}
	d, err := ParseDuration(text)
	target.SetInt(int64(d))
	return err
}))

var inDays = regexp.MustCompile(`^([+-]?)(\d+)d(.*)$`)

// maxDays is the number of days that a time.Duration can hold.
const maxDays = 106_751

// ParseDuration is time.ParseDuration with an optional number of days at the start.
func ParseDuration(s string) (time.Duration, error) {
	sign, days, rest := "", 0, s
	if m := inDays.FindStringSubmatch(s); m != nil {
		n, err := strconv.Atoi(m[2])
		if err != nil || n >= maxDays {
			return 0, fmt.Errorf("%q is too long", s)
		}
		sign, days, rest = m[1], n, m[3]
		if rest == "" {
			rest = "0"
		}
	}
	d, err := time.ParseDuration(sign + rest)
	if err != nil || rest != s && d >= 24*time.Hour || rest != s && rest[0] == '-' {
		return 0, fmt.Errorf("%q is not a duration: write 90s, 30m, 12h or 30d", s)
	}
	if sign == "-" {
		days = -days
	}
	return time.Duration(days)*24*time.Hour + d, nil
}
