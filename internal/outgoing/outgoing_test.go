package outgoing_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"golang.org/x/net/dns/dnsmessage"

	"galley/internal/cms"
	"galley/internal/outgoing"
)

const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

func message(address string) cms.WebhookMessage {
	return cms.WebhookMessage{URL: address, ID: "msg", At: time.Now(), Secrets: []string{secret}, Body: []byte(`{}`)}
}

func networks(texts ...string) (list []netip.Prefix) {
	for _, text := range texts {
		list = append(list, netip.MustParsePrefix(text))
	}
	return list
}

// counted listens on a free port of every address, and counts connections.
func counted(t *testing.T) (port string, connections *atomic.Int32) {
	t.Helper()
	listener, err := net.Listen("tcp", "[::]:0") //nolint:gosec // every spelling has to lead here
	if err != nil {
		t.Fatal(err)
	}
	connections = new(atomic.Int32)
	server := &http.Server{
		ReadHeaderTimeout: time.Second,
		Handler:           http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}),
		ConnState: func(_ net.Conn, state http.ConnState) {
			if state == http.StateNew {
				connections.Add(1)
			}
		},
	}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	_, port, err = net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port, connections
}

// resolver returns a resolver that asks a name server whose answers to all names are
// given by the number of the question.
func resolver(t *testing.T, answer func(question int) []netip.Addr) *net.Resolver {
	t.Helper()
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	go func() {
		buffer := make([]byte, 1500)
		for number := 0; ; {
			n, from, err := server.ReadFrom(buffer)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(buffer[:n]) != nil || len(m.Questions) != 1 {
				continue
			}
			question := m.Questions[0]
			m.Header = dnsmessage.Header{ID: m.ID, Response: true, Authoritative: true}
			m.Additionals = nil
			header := dnsmessage.ResourceHeader{Name: question.Name, Class: question.Class}
			if question.Type == dnsmessage.TypeA {
				for _, a := range answer(number) {
					m.Answers = append(m.Answers, dnsmessage.Resource{Header: header, Body: &dnsmessage.AResource{A: a.As4()}})
				}
				number++
			}
			packed, err := m.Pack()
			if err == nil {
				_, _ = server.WriteTo(packed, from)
			}
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", server.LocalAddr().String())
	}}
}

func always(a string) func(int) []netip.Addr {
	return func(int) []netip.Addr { return []netip.Addr{netip.MustParseAddr(a)} }
}

// forbidden are hosts that lead to addresses that are not globally reachable.
// What Go takes for a name is resolved as 127.0.0.1, as the C library would resolve
// most of them; some it takes for neither a name nor an address.
var forbidden = []string{
	// Loopback, in all spellings of inet_aton and of browsers.
	"127.0.0.1", "127.0.0.53", "127.255.255.254", "127.1", "127.0.1", "2130706433", "0x7f000001", "0x7f.0.0.1", "0x7f.1",
	"017700000001", "0177.0.0.1", "0177.1", "00127.0.0.1", "127.0.0.1.", "127.000.000.001", "4294967296127", "localhost", "LOCALHOST",
	"localhost.", "１２７.０.０.１", "127。0。0。1", "①②⑦.0.0.1", "receiver.test", "127.0.0.1.nip.test",
	// IPv6 loopback and unspecified, and IPv4 within IPv6.
	"[::1]", "[0:0:0:0:0:0:0:1]", "[0000::0001]", "[::]", "[::1%25lo]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]",
	"[0:0:0:0:0:ffff:127.0.0.1]", "[::127.0.0.1]", "[::ffff:0:127.0.0.1]", "[::ffff:10.0.0.1]", "[::ffff:169.254.169.254]",
	"[64:ff9b::127.0.0.1]", "[64:ff9b::7f00:1]", "[64:ff9b::a9fe:a9fe]", "[64:ff9b::10.1.2.3]", "[64:ff9b:1::1]", "[64:ff9b:1::8.8.8.8]",
	"[2002:7f00:1::1]", "[2002:a00:1::1]", "[2002:a9fe:a9fe::1]", "[2001:0:7f00:1::]", "[2001::80ff:fffe]", "[2001:0:4136:e378:8000:63bf:5601:5601]",
	// Private, shared, link-local and metadata.
	"10.0.0.1", "10.255.255.255", "172.16.0.1", "172.31.255.255", "192.168.0.1", "100.64.0.1", "100.127.255.255",
	"169.254.169.254", "169.254.0.1", "[fe80::1]", "[fe80::1%25lo]", "[fe80::1%25eth0]", "[febf::1]", "[fec0::1]",
	"[fc00::1]", "[fd00:ec2::254]", "[fdff::1]",
	// This network, protocol assignments, benchmarking, documentation, reserved, multicast, broadcast, discard, segment routing.
	"0.0.0.0", "0.1.2.3", "192.0.0.1", "192.0.0.192", "192.0.2.1", "198.18.0.1", "198.19.255.255", "198.51.100.1", "203.0.113.1",
	"192.88.99.1", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255",
	"[2001:2::1]", "[2001:10::1]", "[2001:db8::1]", "[3fff::1]", "[100::1]", "[100:0:0:1::1]", "[5f00::1]", "[ff02::1]", "[ff0e::1]", "[4000::1]",
}

func TestForbiddenAddresses(t *testing.T) {
	port, connections := counted(t)
	client := outgoing.New("test", nil, resolver(t, always("127.0.0.1")))
	for _, host := range forbidden {
		_, err := client.Send(t.Context(), message("http://"+host+":"+port+"/"))
		if err == nil || !strings.Contains(err.Error(), "not globally reachable") && !strings.HasSuffix(err.Error(), host+" does not exist") {
			t.Errorf("%s: got %v, want a refusal", host, err)
		}
	}
	if n := connections.Load(); n != 0 {
		t.Errorf("%d connections were made, want none", n)
	}
	if len(forbidden) < 40 {
		t.Errorf("only %d spellings", len(forbidden))
	}
}

func TestOtherAddresses(t *testing.T) {
	check := outgoing.Control(nil)
	for _, host := range []string{
		"1.1.1.1", "8.8.8.8", "172.15.255.255", "172.32.0.1", "100.63.255.255", "100.128.0.1", "169.253.255.255", "223.255.255.255",
		"[2606:4700::1]", "[2a00:1450:4001:801::200e]", "[64:ff9b::8.8.8.8]", "[::ffff:8.8.8.8]",
	} {
		if err := check("tcp", host+":443", nil); err != nil {
			t.Errorf("%s: got %v", host, err)
		}
	}
}

func TestAllowedNetworks(t *testing.T) {
	port, connections := counted(t)
	for _, c := range []struct {
		allowed, host string
		want          bool
	}{
		{"127.0.0.0/8", "127.0.0.1", true},
		{"127.0.0.0/8", "[::ffff:127.0.0.1]", true},
		{"127.0.0.0/8", "receiver.test", true},
		{"127.0.0.1/32", "127.0.0.2", false},
		{"127.0.0.0/8", "[::1]", false},
		{"::1/128", "[::1]", true},
		{"::1/128", "127.0.0.1", false},
		{"10.0.0.0/8", "127.0.0.1", false},
	} {
		before := connections.Load()
		client := outgoing.New("test", networks(c.allowed), resolver(t, always("127.0.0.1")))
		answer, err := client.Send(t.Context(), message("http://"+c.host+":"+port+"/"))
		if reached := err == nil && answer.Status == 200; reached != c.want || (connections.Load() > before) != c.want {
			t.Errorf("%s with %s allowed: got %v %v and %d connections, want success: %v", c.host, c.allowed, answer, err, connections.Load()-before, c.want)
		}
	}
}

// A name whose addresses change with each question, and one that has a good and a bad
// address, lead nowhere.
func TestChangingNames(t *testing.T) {
	port, connections := counted(t)
	good, bad := netip.MustParseAddr("100.128.0.1"), netip.MustParseAddr("127.0.0.1")
	for _, answer := range map[string]func(int) []netip.Addr{
		"good, then bad": func(n int) []netip.Addr { return []netip.Addr{[]netip.Addr{good, bad}[min(n, 1)]} },
		"by turns":       func(n int) []netip.Addr { return []netip.Addr{[]netip.Addr{good, bad}[n%2]} },
		"both":           func(int) []netip.Addr { return []netip.Addr{good, bad} },
		"both, bad first": func(int) []netip.Addr {
			return []netip.Addr{bad, good}
		},
	} {
		client := outgoing.New("test", nil, resolver(t, answer))
		for range 6 {
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			// The good address may answer or not.
			_, _ = client.Send(ctx, message("http://rebind.test:"+port+"/"))
			cancel()
		}
	}
	if n := connections.Load(); n != 0 {
		t.Errorf("%d connections were made, want none", n)
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	port, connections := counted(t)
	for _, status := range []int{301, 302, 303, 307, 308} {
		for _, target := range []string{"http://127.0.0.1:" + port + "/", "http://127.0.0.2:" + port, "//localhost:" + port, "http://[::1]:" + port, "/elsewhere"} {
			requests := 0
			receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				requests++
				w.Header().Set("Location", target)
				w.WriteHeader(status)
			}))
			client := outgoing.New("test", networks("127.0.0.0/8", "::1/128"), nil)
			answer, err := client.Send(t.Context(), message(receiver.URL))
			if err != nil || answer.Status != status || requests != 1 {
				t.Errorf("%d to %s: got %v, %v after %d requests", status, target, answer, err, requests)
			}
			receiver.Close()
		}
	}
	if n := connections.Load(); n != 0 {
		t.Errorf("%d redirects were followed", n)
	}
}

func TestProxiesOfTheEnvironmentAreIgnored(t *testing.T) {
	port, connections := counted(t)
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:"+port)
	t.Setenv("http_proxy", "http://127.0.0.1:"+port)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) }))
	defer receiver.Close()
	u, err := url.Parse(receiver.URL)
	if err != nil {
		t.Fatal(err)
	}
	client := outgoing.New("test", networks("127.0.0.0/8"), resolver(t, always("127.0.0.1")))
	answer, err := client.Send(t.Context(), message("http://receiver.test:"+u.Port()))
	if err != nil || answer.Status != 204 || connections.Load() != 0 {
		t.Errorf("got %v, %v and %d connections to the proxy", answer, err, connections.Load())
	}
}

func TestCertificatesAreVerified(t *testing.T) {
	receiver := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	receiver.Config.ErrorLog = log.New(io.Discard, "", 0)
	receiver.StartTLS()
	defer receiver.Close()
	_, err := outgoing.New("test", networks("127.0.0.0/8"), nil).Send(t.Context(), message(receiver.URL))
	if err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("got %v, want an error about the certificate", err)
	}
}

func TestSignatures(t *testing.T) {
	other := "whsec_" + strings.Repeat("QUJD", 8)
	var failures []error
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		failures = append(failures, err)
		for _, s := range []string{secret, other} {
			verifier, err := standardwebhooks.NewWebhook(s)
			failures = append(failures, err, verifier.Verify(body, r.Header))
		}
		if r.Header.Get("Content-Type") != "application/json" || r.UserAgent() != "Galley/1" || len(r.Header) != 6 {
			failures = append(failures, fmt.Errorf("headers: %v", r.Header))
		}
	}))
	defer receiver.Close()
	m := message(receiver.URL)
	m.Secrets = append(m.Secrets, other)
	if _, err := outgoing.New("Galley/1", networks("127.0.0.0/8"), nil).Send(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(failures...); err != nil || len(failures) == 0 {
		t.Error(err)
	}
}

func TestBounds(t *testing.T) {
	release := make(chan struct{})
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/large":
			for range 10_000 {
				if _, err := w.Write([]byte(strings.Repeat("é", 500))); err != nil {
					return
				}
			}
		case "/trickle":
			w.WriteHeader(200)
			_, _ = w.Write([]byte("begun"))
			_ = http.NewResponseController(w).Flush()
			<-release
		case "/header":
			w.Header().Set("Large", strings.Repeat("x", 100_000))
		case "/binary":
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(503)
			_, _ = w.Write([]byte("a\xff\x00b"))
		default:
			<-release
		}
	}))
	defer receiver.Close()
	defer close(release)
	client := outgoing.New("test", networks("127.0.0.0/8"), nil)
	send := func(path string, within time.Duration) (cms.WebhookAnswer, error) {
		ctx, cancel := context.WithTimeout(t.Context(), within)
		defer cancel()
		return client.Send(ctx, message(receiver.URL+path))
	}
	if a, err := send("/large", 5*time.Second); err != nil || a.Text != strings.Repeat("é", 512) {
		t.Errorf("large: got %d bytes, %v", len(a.Text), err)
	}
	if a, err := send("/trickle", 200*time.Millisecond); err != nil || a.Status != 200 || a.Text != "begun" {
		t.Errorf("trickle: got %v, %v", a, err)
	}
	if _, err := send("/header", 5*time.Second); err == nil {
		t.Error("header: got no error")
	}
	if a, err := send("/binary", 5*time.Second); err != nil || a.Text != "a\uFFFD\x00b" || a.Status != 503 || a.RetryAfter != "7" {
		t.Errorf("binary: got %+v, %v", a, err)
	}
	if _, err := send("/hang", 200*time.Millisecond); err == nil || err.Error() != "the receiver did not answer in time" {
		t.Errorf("hang: got %v", err)
	}
}

// Errors have neither the query of the URL nor addresses of resolvers.
func TestErrorsTellNothingInternal(t *testing.T) {
	empty := resolver(t, func(int) []netip.Addr { return nil })
	_, err := outgoing.New("test", nil, empty).Send(t.Context(), message("http://nothing.test/?token=123"))
	if err == nil || err.Error() != "the host name nothing.test does not exist" {
		t.Errorf("got %v", err)
	}
	_, err = outgoing.New("test", nil, nil).Send(t.Context(), message("http://127.0.0.1:1/?token=123"))
	if err == nil || strings.ContainsAny(err.Error(), "0123456789") {
		t.Errorf("got %v", err)
	}
}
