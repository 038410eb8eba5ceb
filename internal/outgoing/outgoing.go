// Package outgoing sends requests to addresses that users choose. Its client
// connects to no network that is not globally reachable, unless the operator allows
// it. It knows nothing of webhooks but how a message is signed.
package outgoing

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"code.dny.dev/ssrf"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"galley/internal/cms"
)

// The bounds of a request.
const (
	// Timeout bounds a whole request.
	Timeout      = 15 * time.Second
	phaseTimeout = 5 * time.Second // of connecting, and of the TLS handshake
	idleTimeout  = 30 * time.Second
	maxIdle      = 32 // connections of a receiver that are kept
	maxHeader    = 64 << 10
	maxText      = 1 << 10  // of a response that is reported
	maxDrained   = 64 << 10 // of a response that is read, so that its connection can be used again
)

// Client sends signed messages. It follows no redirects and uses no proxy.
type Client struct {
	agent string
	http  http.Client
}

// New returns a client that names itself to receivers, and that may also connect to
// the allowed networks. Tests pass a resolver other than nil.
func New(agent string, allowed []netip.Prefix, resolver *net.Resolver) *Client {
	dialer := &net.Dialer{Timeout: phaseTimeout, Resolver: resolver, Control: control(allowed)}
	return &Client{agent, http.Client{
		Timeout:       Timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DialContext:            dialer.DialContext,
			TLSHandshakeTimeout:    phaseTimeout,
			ResponseHeaderTimeout:  Timeout,
			IdleConnTimeout:        idleTimeout,
			MaxIdleConnsPerHost:    maxIdle,
			MaxResponseHeaderBytes: maxHeader,
			DisableCompression:     true,
		},
	}}
}

// control returns a function that refuses to connect a socket to an address. It is
// called with the address itself, whatever name or spelling led to it.
func control(allowed []netip.Prefix) func(network, address string, _ syscall.RawConn) error {
	guard := ssrf.New()
	return func(_, address string, _ syscall.RawConn) error {
		target, err := netip.ParseAddrPort(address)
		if err != nil {
			return errForbidden
		}
		written := target.Addr().WithZone("").Unmap()
		meant := unwrap(written)
		isAllowed := func(n netip.Prefix) bool { return n.Contains(written) || n.Contains(meant) }
		if !slices.ContainsFunc(allowed, isAllowed) && guard.SafeAddr(meant) != nil {
			return errForbidden
		}
		return nil
	}
}

// unwrap returns the IPv4 address that an address leads to by NAT64. Those of 6to4
// and Teredo are refused as a whole.
func unwrap(a netip.Addr) netip.Addr {
	if ssrf.IPv6NAT64Prefix.Contains(a) {
		bytes := a.As16()
		a = netip.AddrFrom4([4]byte(bytes[12:]))
	}
	return a
}

// Errors that users see. They have neither the addresses that a name resolved to nor
// that of the resolver, which may be of an internal network.
var (
	errForbidden = errors.New("the address of the URL is not globally reachable, and --webhook-allow-networks does not name it")
	errTimeout   = errors.New("the receiver did not answer in time")
)

// Send signs a message and posts it. The error says why there was no response.
func (c *Client) Send(ctx context.Context, m cms.WebhookMessage) (cms.WebhookAnswer, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, m.URL, bytes.NewReader(m.Body))
	if err != nil {
		return cms.WebhookAnswer{}, errors.New("the URL can't be requested")
	}
	var signatures []string
	for _, secret := range m.Secrets {
		signer, err := standardwebhooks.NewWebhook(secret)
		if err != nil {
			return cms.WebhookAnswer{}, err
		}
		signature, err := signer.Sign(m.ID, m.At, m.Body)
		if err != nil {
			return cms.WebhookAnswer{}, err
		}
		signatures = append(signatures, signature)
	}
	req.Header = http.Header{
		"User-Agent":        {c.agent},
		"Content-Type":      {"application/json"},
		"Webhook-Id":        {m.ID},
		"Webhook-Timestamp": {strconv.FormatInt(m.At.Unix(), 10)},
		"Webhook-Signature": {strings.Join(signatures, " ")},
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return cms.WebhookAnswer{}, explain(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxText)) // what was received before an error is reported
	if err == nil {
		_, _ = io.CopyN(io.Discard, resp.Body, maxDrained)
	}
	return cms.WebhookAnswer{
		Status: resp.StatusCode, Text: strings.ToValidUTF8(string(text), "\uFFFD"), RetryAfter: resp.Header.Get("Retry-After"),
	}, nil
}

// explain returns an error without the URL, which may have a password in its query.
func explain(err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		reason := "could not be resolved"
		if dns.IsNotFound {
			reason = "does not exist"
		}
		return fmt.Errorf("the host name %s %s", dns.Name, reason)
	}
	var timeout net.Error
	switch {
	case errors.Is(err, errForbidden):
		return errForbidden
	case errors.As(err, &timeout) && timeout.Timeout():
		return errTimeout
	}
	return err
}
