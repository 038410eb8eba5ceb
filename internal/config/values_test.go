package config_test

import (
	"fmt"
	"strings"
	"testing"
)

func TestListsOfTheEdge(t *testing.T) {
	for _, c := range []struct{ setting, text, want string }{
		{"trusted-proxies", "", "[]"},
		{"trusted-proxies", "10.0.0.0/8", "[10.0.0.0/8]"},
		{"trusted-proxies", "10.1.2.3/8, 192.168.1.1 ,::1,fd00::/8,", "[10.0.0.0/8 192.168.1.1/32 ::1/128 fd00::/8]"},
		{"trusted-proxies", "::ffff:10.0.0.1", "[10.0.0.1/32]"},
		{"cors-origins", "*", "[*]"},
		{"cors-origins", "https://www.example.com, http://localhost:3000,http://[::1]:8080", "[https://www.example.com http://localhost:3000 http://[::1]:8080]"},
		{"acme-domains", "www.example.com,a-b.example", "[www.example.com a-b.example]"},
	} {
		got, err := parse(t, c.setting+`: "`+c.text+`"`)
		if err != nil {
			t.Errorf("%s: %q: %v", c.setting, c.text, err)
			continue
		}
		value := map[string]any{"trusted-proxies": got.TrustedProxies, "cors-origins": got.CORSOrigins, "acme-domains": got.ACMEDomains}[c.setting]
		if fmt.Sprint(value) != c.want {
			t.Errorf("%s: %q reads as %v, want %s", c.setting, c.text, value, c.want)
		}
	}
	for setting, texts := range map[string][]string{
		"trusted-proxies": {"proxy", "10.0.0.0/33", "10.0.0", "10.0.0.1-10.0.0.9", "fe80::1%eth0", "::ffff:10.0.0.0/104", "10.0.0.1 10.0.0.2", "*"},
		"cors-origins": {
			"example.com", "https://", "https://example.com/", "https://example.com/x", "https://Example.com", "HTTPS://example.com", "https://example.com:443",
			"http://example.com:80", "https://user@example.com", "https://*.example.com", "ftp://example.com", "null", "https://a.example https://b.example",
		},
		"acme-domains": {"localhost", "127.0.0.1", "::1", "*.example.com", "example.com.", "Example.com", "https://example.com", "a b.example", "-a.example", "a_b.example"},
	} {
		for _, text := range texts {
			if got, err := parse(t, setting+`: "`+text+`"`); err == nil || !strings.Contains(err.Error(), setting) {
				t.Errorf("%s: %q reads as %+v, %v", setting, text, got.Edge, err)
			}
		}
	}
}

func TestDefaultsOfTheEdge(t *testing.T) {
	got, err := parse(t, "")
	if err != nil {
		t.Fatal(err)
	}
	if got.MaxConnections != 16384 || got.MaxInFlight != 64 || got.TrustedProxies != nil || got.CORSOrigins != nil || got.ACMEDomains != nil {
		t.Errorf("got %+v", got.Edge)
	}
}
