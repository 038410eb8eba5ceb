package server_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log/slog"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"galley/internal/server"
)

// pair is a certificate that says who made it, and its key.
type pair struct{ cert, key []byte }

func newPair(t *testing.T, name string) pair {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, DNSNames: []string{"galley.test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return pair{
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}),
	}
}

// files are a certificate and a key on disk.
type files struct{ cert, key string }

func newFiles(t *testing.T) files {
	t.Helper()
	dir := t.TempDir()
	return files{filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")}
}

func write(t *testing.T, name string, content []byte) {
	t.Helper()
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

func (f files) write(t *testing.T, p pair) {
	t.Helper()
	write(t, f.cert, p.cert)
	write(t, f.key, p.key)
}

// shown is the name in the certificate that a server shows.
func (r *running) shown(t *testing.T) string {
	t.Helper()
	conn, err := tls.Dial("tcp", strings.TrimPrefix(r.url, "http://"), &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	return conn.ConnectionState().PeerCertificates[0].Subject.CommonName
}

func TestCertificateIsReadAgainWhenItChanges(t *testing.T) {
	t.Parallel()
	f := newFiles(t)
	first, second := newPair(t, "first"), newPair(t, "second")
	f.write(t, first)
	log := &lockedBuffer{}
	certificate, err := server.LoadCertificate(f.cert, f.key, slog.New(slog.NewTextHandler(log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	r := runWith(t, hello, func(s *server.Server) { s.TLS = &tls.Config{GetCertificate: certificate.Get} })
	if got := r.shown(t); got != "first" {
		t.Fatalf("shows %q", got)
	}
	complaints := func() int { return strings.Count(log.String(), "can't be used") }

	// A certificate without its key is what one sees while both are replaced.
	write(t, f.cert, second.cert)
	eventually(t, "the server complains", func() bool { return r.shown(t) == "first" && complaints() > 0 })
	write(t, f.key, second.key)
	eventually(t, "the second is shown", func() bool { return r.shown(t) == "second" })

	for _, spoil := range []func(){
		func() { write(t, f.cert, []byte("broken")) },
		func() { write(t, f.cert, bytes.Repeat([]byte("x"), 100)) },
		func() { _ = os.Remove(f.key) },
	} {
		before := complaints()
		spoil()
		eventually(t, "the server complains again", func() bool { return r.shown(t) == "second" && complaints() > before })
	}
	f.write(t, newPair(t, "third"))
	eventually(t, "the third is shown", func() bool { return r.shown(t) == "third" })
	if strings.Contains(log.String(), "PRIVATE") {
		t.Errorf("the log shows the key:\n%s", log)
	}
}

func TestBadCertificateIsRefusedAtTheStart(t *testing.T) {
	t.Parallel()
	f, good := newFiles(t), newPair(t, "good")
	for name, p := range map[string]pair{
		"no certificate": {nil, good.key}, "no key": {good.cert, nil}, "broken": {[]byte("x"), good.key}, "another key": {good.cert, newPair(t, "x").key},
	} {
		f.write(t, p)
		if _, err := server.LoadCertificate(f.cert, f.key, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), f.cert) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := server.LoadCertificate(f.cert+".none", f.key, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), ".none") {
		t.Errorf("missing file: %v", err)
	}
}

func TestServerSpeaksHTTP2OverTLS(t *testing.T) {
	t.Parallel()
	f := newFiles(t)
	f.write(t, newPair(t, "x"))
	certificate, err := server.LoadCertificate(f.cert, f.key, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	r := runWith(t, hello, func(s *server.Server) {
		s.TLS = &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: certificate.Get}
	})
	for _, two := range []bool{true, false} {
		client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: two}}
		resp, err := client.Get(strings.Replace(r.url, "http:", "https:", 1))
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if string(body) != "hello" || (resp.ProtoMajor == 2) != two || resp.TLS.Version < tls.VersionTLS12 {
			t.Errorf("HTTP/2 wanted %v: %s %q", two, resp.Proto, body)
		}
		client.CloseIdleConnections()
	}
	if conn, err := tls.Dial("tcp", strings.TrimPrefix(r.url, "http://"), &tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS11}); err == nil {
		t.Errorf("speaks version %x", conn.ConnectionState().Version)
		_ = conn.Close()
	}
	r.end(t)
}

// A client that never finishes to agree on TLS is cut off like any other.
func TestTLSThatIsNotAgreedOnIsCutOff(t *testing.T) {
	t.Parallel()
	f := newFiles(t)
	f.write(t, newPair(t, "x"))
	certificate, err := server.LoadCertificate(f.cert, f.key, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	deadlines := within(func(d *server.Deadlines) { d.Header = short })
	r := runWith(t, hello, func(s *server.Server) {
		deadlines(s)
		s.TLS = &tls.Config{GetCertificate: certificate.Get}
	})
	conn := r.dial(t)
	if _, err := conn.Write([]byte{22, 3, 1, 0, 200}); err != nil {
		t.Fatal(err)
	}
	ends(t, conn)
}
