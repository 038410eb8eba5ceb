package httpapi

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// proxies are the networks whose word about a client's address is taken.
type proxies []netip.Prefix

func (p proxies) trust(a netip.Addr) bool {
	return slices.ContainsFunc(p, func(network netip.Prefix) bool { return network.Contains(a) })
}

// client is the address that a request comes from: the connection's, or, where
// that is a trusted proxy's, the nearest one before it that is not. What the
// client itself wrote into the header lies further left and is never reached.
func (p proxies) client(r *http.Request) netip.Addr {
	from, ok := parseAddress(r.RemoteAddr)
	if !ok || !p.trust(from) {
		return from
	}
	list := strings.Join(r.Header.Values("X-Forwarded-For"), ",")
	for list != "" {
		comma := strings.LastIndexByte(list, ',')
		hop, ok := parseAddress(strings.TrimSpace(list[comma+1:]))
		if !ok {
			return from
		}
		if from = hop; !p.trust(hop) {
			return hop
		}
		list = list[:max(comma, 0)]
	}
	return from
}

// parseAddress reads an address with or without a port. One IPv4 address has
// one form, and a zone says nothing beyond this machine.
func parseAddress(text string) (netip.Addr, bool) {
	a, err := netip.ParseAddr(text)
	if err != nil {
		withPort, err := netip.ParseAddrPort(text)
		if err != nil {
			return netip.Addr{}, false
		}
		a = withPort.Addr()
	}
	return a.Unmap().WithZone(""), true
}

// household is who counts as one client: an IPv6 client has a whole /64 to
// take addresses from.
func clientKey(a netip.Addr) string {
	if !a.Is6() {
		return a.String()
	}
	return netip.PrefixFrom(a, 64).Masked().String()
}
