package main_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// writeCertificate puts a certificate of 127.0.0.1 and its key into files, and
// returns the serial number that tells it from others.
func writeCertificate(t *testing.T, certFile, keyFile string) *big.Int {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	serial := big.NewInt(time.Now().UnixNano())
	template := &x509.Certificate{SerialNumber: serial, DNSNames: []string{"galley.test"}, NotAfter: time.Now().Add(time.Hour)}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{certFile: {Type: "CERTIFICATE", Bytes: cert}, keyFile: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(name, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return serial
}

func TestServeWithACertificateInFiles(t *testing.T) {
	t.Parallel()
	for name, place := range map[string]int{"flag": byFlag, "variable": byVariable, "file": byFile} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			settings := map[string]string{"tls-cert": filepath.Join(dir, "cert.pem"), "tls-key": filepath.Join(dir, "key.pem")}
			serial := writeCertificate(t, settings["tls-cert"], settings["tls-key"])
			env, args := give(t, place, settings)
			server := serve(t, env, args...)
			if !strings.HasPrefix(server.url, "https://127.0.0.1:") || !strings.Contains(server.stdout.String(), "curl") {
				t.Errorf("says\n%s", &server.stdout)
			}
			shown := func() *big.Int {
				conn, err := tls.Dial("tcp", server.address(), &tls.Config{InsecureSkipVerify: true})
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = conn.Close() }()
				return conn.ConnectionState().PeerCertificates[0].SerialNumber
			}
			if shown().Cmp(serial) != 0 {
				t.Error("shows another certificate")
			}
			client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true}}
			resp, err := client.Get(server.url + "/v2/sites")
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
			if resp.StatusCode != 401 || resp.ProtoMajor != 2 || resp.Header.Get("Strict-Transport-Security") != "max-age=31536000" {
				t.Errorf("%s %d, %v", resp.Proto, resp.StatusCode, resp.Header)
			}
			client.CloseIdleConnections()

			healthEnv, healthArgs := give(t, place, map[string]string{"addr": server.address(), "tls-cert": settings["tls-cert"]})
			healthy(t, healthEnv, healthArgs...)

			renewed := writeCertificate(t, settings["tls-cert"], settings["tls-key"])
			eventually(t, "the new certificate is shown", func() bool { return shown().Cmp(renewed) == 0 })
			if code := server.stop(t); code != 0 {
				t.Errorf("exit code %d", code)
			}
		})
	}
}

// A body that is too large is the end of one request, not of the others that
// share its connection.
func TestALargeBodyOverHTTP2(t *testing.T) {
	t.Parallel()
	cert, key := filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")
	writeCertificate(t, cert, key)
	server := serve(t, nil, "--tls-cert", cert, "--tls-key", key)
	apiKey := server.key(t)
	var opened atomic.Int32
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true}
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		opened.Add(1)
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}
	defer transport.CloseIdleConnections()
	for range 3 {
		req, err := http.NewRequest("POST", server.url+"/v2/sites", bytes.NewReader(make([]byte, 2<<20)))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Api-Key", apiKey)
		req.Header.Set("Content-Type", "application/json")
		resp, err := transport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || resp.StatusCode != 413 || resp.ProtoMajor != 2 || !strings.Contains(string(body), `"payload_too_large"`) {
			t.Errorf("%s %d, %q, %v", resp.Proto, resp.StatusCode, body, err)
		}
	}
	if n := opened.Load(); n != 1 {
		t.Errorf("%d connections were opened", n)
	}
}

func TestBadSettingsOfTheEdgeAreRefused(t *testing.T) {
	t.Parallel()
	cert, key := filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")
	writeCertificate(t, cert, key)
	for name, c := range map[string]struct {
		code int
		args []string
		says []string
	}{
		"certificate without a key":   {1, []string{"--tls-cert", cert}, []string{"--tls-cert", "--tls-key", "both"}},
		"key without a certificate":   {1, []string{"--tls-key", key}, []string{"--tls-cert", "--tls-key", "both"}},
		"missing certificate":         {1, []string{"--tls-cert", "none.pem", "--tls-key", key}, []string{"none.pem"}},
		"key that is none":            {1, []string{"--tls-cert", cert, "--tls-key", cert}, []string{cert}},
		"two ways to a certificate":   {1, []string{"--tls-cert", cert, "--tls-key", key, "--acme-domains", "a.example"}, []string{"--acme-domains", "choose"}},
		"authority without a name":    {1, []string{"--acme-email", "a@b.example"}, []string{"--acme-domains"}},
		"nowhere to keep it":          {1, []string{"--acme-domains", "a.example", "--database-url", "postgres://nobody@127.0.0.1:1/x"}, []string{"--acme-cache"}},
		"no connections":              {1, []string{"--max-connections", "0"}, []string{"--max-connections", "1"}},
		"no requests":                 {1, []string{"--max-in-flight=-1"}, []string{"--max-in-flight", "1"}},
		"origin with a path":          {2, []string{"--cors-origins", "https://a.example/"}, []string{"--cors-origins", "https://www.example.com"}},
		"proxy by name":               {2, []string{"--trusted-proxies", "proxy.example"}, []string{"--trusted-proxies", "10.0.0.0/8"}},
		"certificate for an address":  {2, []string{"--acme-domains", "127.0.0.1"}, []string{"--acme-domains", "www.example.com"}},
		"many connections by letters": {2, []string{"--max-connections", "many"}, []string{"--max-connections"}},
	} {
		t.Run(name, func(t *testing.T) {
			stderr := refused(t, c.code, nil, append([]string{"serve", "--addr", "127.0.0.1:0"}, c.args...)...)
			for _, word := range c.says {
				if !strings.Contains(stderr, word) {
					t.Errorf("the message does not say %q: %s", word, stderr)
				}
			}
		})
	}
}
