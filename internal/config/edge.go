package config

import (
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
)

// Edge has the settings of the network.
type Edge struct {
	TrustedProxies Networks `help:"Proxies whose X-Forwarded-For header to trust: comma-separated addresses or networks (default none)." env:"GALLEY_TRUSTED_PROXIES" placeholder:"NETWORKS"`
	MaxConnections int      `help:"Maximum number of open connections (default ${default})." default:"16384" env:"GALLEY_MAX_CONNECTIONS" placeholder:"NUMBER"`
	MaxInFlight    int      `help:"Maximum number of requests handled at a time (default ${default})." default:"64" env:"GALLEY_MAX_IN_FLIGHT" placeholder:"NUMBER"`
	CORSOrigins    Origins  `help:"Comma-separated origins whose scripts may read with a Site key, or * for all (default none)." name:"cors-origins" env:"GALLEY_CORS_ORIGINS" placeholder:"ORIGINS"`

	TLSCert       string `help:"Serve HTTPS with the certificate in this PEM file, which is reloaded when it changes." name:"tls-cert" env:"GALLEY_TLS_CERT" placeholder:"FILE"`
	TLSKey        string `help:"PEM file with the private key of the certificate." name:"tls-key" env:"GALLEY_TLS_KEY" placeholder:"FILE"`
	ACMEDomains   Names  `help:"Serve HTTPS with ACME certificates for these comma-separated host names; port 443 must lead to the server." name:"acme-domains" env:"GALLEY_ACME_DOMAINS" placeholder:"NAMES"`
	ACMEEmail     string `help:"Contact email address for the ACME certificate authority." name:"acme-email" env:"GALLEY_ACME_EMAIL" placeholder:"ADDRESS"`
	ACMEDirectory string `help:"Directory URL of the ACME certificate authority (default Let's Encrypt)." name:"acme-directory" env:"GALLEY_ACME_DIRECTORY" placeholder:"URL"`
	ACMECache     string `help:"Folder in which to keep ACME certificates (default 'acme' in the --data folder)." name:"acme-cache" env:"GALLEY_ACME_CACHE" placeholder:"DIR"`
}

// Networks are addresses and networks, separated by commas.
type Networks []netip.Prefix

// UnmarshalText reads networks such as 10.0.0.0/8 and addresses.
func (n *Networks) UnmarshalText(text []byte) error {
	*n = nil
	for _, item := range items(text) {
		network, err := netip.ParsePrefix(item)
		if a, failed := netip.ParseAddr(item); failed == nil {
			a = a.Unmap()
			network, err = netip.PrefixFrom(a, a.BitLen()), nil
		}
		if err != nil || network.Addr().Is4In6() || strings.Contains(item, "%") {
			return fmt.Errorf("%q is not a network: write addresses or networks such as 10.0.0.0/8,::1", item)
		}
		*n = append(*n, network.Masked())
	}
	return nil
}

// Origins are web origins, separated by commas, or * for all.
type Origins []string

// UnmarshalText reads origins exactly as browsers send them.
func (o *Origins) UnmarshalText(text []byte) error {
	*o = items(text)
	for _, item := range *o {
		if item != "*" && !isOrigin(item) {
			return fmt.Errorf("%q is not an origin: write origins such as https://www.example.com, or *", item)
		}
	}
	return nil
}

func isOrigin(text string) bool {
	u, err := url.Parse(text)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" {
		return false
	}
	// Browsers send no default port and no upper case. Patterns are not supported.
	standard := u.Port() == map[string]string{"http": "80", "https": "443"}[u.Scheme]
	return !standard && !strings.Contains(u.Host, "*") && text == strings.ToLower(u.Scheme+"://"+u.Host)
}

// Names are host names, separated by commas.
type Names []string

var hostName = regexp.MustCompile(`^([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)+[a-z]([a-z0-9-]*[a-z0-9])?$`)

// UnmarshalText reads host names.
func (n *Names) UnmarshalText(text []byte) error {
	*n = items(text)
	for _, item := range *n {
		if !hostName.MatchString(item) {
			return fmt.Errorf("%q is not a host name: write names such as www.example.com, in lower case", item)
		}
	}
	return nil
}

// items splits a list at commas, and drops blanks and empty items.
func items(text []byte) []string {
	var list []string
	for item := range strings.SplitSeq(string(text), ",") {
		if item = strings.TrimSpace(item); item != "" {
			list = append(list, item)
		}
	}
	return list
}
