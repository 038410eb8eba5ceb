package main_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"galley/internal/pgtest"
)

// authority is a small certificate authority that speaks ACME (RFC 8555) with
// the TLS-ALPN-01 challenge (RFC 8737). It takes nothing on trust: requests
// must be signed by the account's key with a fresh nonce, and a name is only
// certified after its server has shown the right answer to the challenge.
type authority struct {
	url  string
	root *x509.Certificate
	key  *ecdsa.PrivateKey

	mu      sync.Mutex
	target  string // address at which every name is found
	nonces  map[string]bool
	account *ecdsa.PublicKey
	contact []string
	order   *acmeOrder
	issued  int
	problem error // why the last challenge failed
}

type acmeOrder struct {
	name, token string
	valid       bool // the name was proved
	chain       []byte
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Test authority"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(365 * 24 * time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	root, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	a := &authority{root: root, key: key, nonces: map[string]bool{}}
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	a.url = server.URL
	return a
}

// state is what happened so far.
func (a *authority) state() (issued int, contact []string, problem error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.issued, a.contact, a.problem
}

func (a *authority) find(address string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.target = address
}

// client trusts the authority and finds every name at an address.
func (a *authority) client(address, name string) *http.Client {
	pool := x509.NewCertPool()
	pool.AddCert(a.root)
	return &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{
		DialTLSContext:    (&tls.Dialer{Config: &tls.Config{RootCAs: pool, ServerName: name}}).DialContext,
		DisableKeepAlives: true,
	}}
}

func (a *authority) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	nonce := rand.Text()
	a.nonces[nonce] = true
	w.Header().Set("Replay-Nonce", nonce)
	if r.URL.Path == "/directory" {
		reply := map[string]any{"meta": map[string]string{"termsOfService": a.url + "/terms"}}
		for _, name := range []string{"newNonce", "newAccount", "newOrder"} {
			reply[name] = a.url + "/" + name
		}
		a.answer(w, http.StatusOK, reply)
		return
	}
	if r.URL.Path == "/newNonce" {
		return
	}
	payload, err := a.open(r)
	if err == nil {
		err = a.act(w, r.URL.Path, payload)
	}
	if err != nil {
		w.Header().Set("Content-Type", "application/problem+json")
		a.answer(w, http.StatusBadRequest, map[string]string{"type": "urn:ietf:params:acme:error:malformed", "detail": err.Error()})
	}
}

func (a *authority) answer(w http.ResponseWriter, status int, body any) {
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the client may be gone
}

// act does what a request with a good signature asks for.
func (a *authority) act(w http.ResponseWriter, path string, payload []byte) error {
	switch path {
	case "/newAccount":
		var in struct{ Contact []string }
		if err := json.Unmarshal(payload, &in); err != nil {
			return err
		}
		a.contact = in.Contact
		w.Header().Set("Location", a.url+"/account")
		a.answer(w, http.StatusCreated, map[string]string{"status": "valid"})
		return nil
	case "/newOrder":
		var in struct {
			Identifiers []struct{ Type, Value string }
		}
		if err := json.Unmarshal(payload, &in); err != nil || len(in.Identifiers) != 1 {
			return fmt.Errorf("one name at a time, not %s", payload)
		}
		a.order = &acmeOrder{name: in.Identifiers[0].Value, token: rand.Text()}
		w.Header().Set("Location", a.url+"/order")
		a.answer(w, http.StatusCreated, a.orderNow())
		return nil
	}
	if a.order == nil {
		return errors.New("nothing was ordered")
	}
	switch path {
	case "/authorization":
		status := map[bool]string{false: "pending", true: "valid"}[a.order.valid]
		a.answer(w, http.StatusOK, map[string]any{
			"status": status, "identifier": map[string]string{"type": "dns", "value": a.order.name}, "challenges": []any{a.challengeNow()},
		})
	case "/challenge":
		a.problem = a.validate()
		a.order.valid = a.problem == nil
		if a.problem != nil {
			return a.problem
		}
		a.answer(w, http.StatusOK, a.challengeNow())
	case "/order":
		a.answer(w, http.StatusOK, a.orderNow())
	case "/finalize":
		if err := a.issue(payload); err != nil {
			return err
		}
		w.Header().Set("Location", a.url+"/order")
		a.answer(w, http.StatusOK, a.orderNow())
	case "/certificate":
		w.Header().Set("Content-Type", "application/pem-certificate-chain")
		_, _ = w.Write(a.order.chain)
	default:
		return errors.New("no such address")
	}
	return nil
}

func (a *authority) challengeNow() map[string]string {
	status := map[bool]string{false: "pending", true: "valid"}[a.order.valid]
	return map[string]string{"type": "tls-alpn-01", "url": a.url + "/challenge", "token": a.order.token, "status": status}
}

func (a *authority) orderNow() map[string]any {
	now := map[string]any{
		"status": "pending", "identifiers": []any{map[string]string{"type": "dns", "value": a.order.name}},
		"authorizations": []string{a.url + "/authorization"}, "finalize": a.url + "/finalize",
	}
	if a.order.valid {
		now["status"] = "ready"
	}
	if a.order.chain != nil {
		now["status"], now["certificate"] = "valid", a.url+"/certificate"
	}
	return now
}

// open checks a request's signature and returns what was signed.
func (a *authority) open(r *http.Request) ([]byte, error) {
	var signed struct{ Protected, Payload, Signature string }
	if err := json.NewDecoder(r.Body).Decode(&signed); err != nil {
		return nil, err
	}
	var head struct {
		Alg, Nonce, URL, Kid string
		JWK                  *struct{ Crv, Kty, X, Y string }
	}
	if err := json.Unmarshal(decode(signed.Protected), &head); err != nil {
		return nil, err
	}
	if head.Alg != "ES256" || head.URL != a.url+r.URL.Path || !a.nonces[head.Nonce] {
		return nil, fmt.Errorf("alg %s, url %s, or a nonce that is not fresh", head.Alg, head.URL)
	}
	delete(a.nonces, head.Nonce)
	if head.JWK != nil && r.URL.Path == "/newAccount" {
		point := append(append([]byte{4}, decode(head.JWK.X)...), decode(head.JWK.Y)...)
		key, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), point)
		if err != nil {
			return nil, err
		}
		a.account = key
	} else if head.Kid != a.url+"/account" {
		return nil, fmt.Errorf("unknown account %s", head.Kid)
	}
	signature, sum := decode(signed.Signature), sha256.Sum256([]byte(signed.Protected+"."+signed.Payload))
	if len(signature) != 64 || !ecdsa.Verify(a.account, sum[:], new(big.Int).SetBytes(signature[:32]), new(big.Int).SetBytes(signature[32:])) {
		return nil, errors.New("the signature is wrong")
	}
	return decode(signed.Payload), nil
}

func decode(text string) []byte {
	b, _ := base64.RawURLEncoding.DecodeString(text) // what is wrong fails later
	return b
}

// validate asks the server of the name for the answer to the challenge.
func (a *authority) validate() error {
	conn, err := tls.Dial("tcp", a.target, &tls.Config{ServerName: a.order.name, NextProtos: []string{"acme-tls/1"}, InsecureSkipVerify: true})
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	state := conn.ConnectionState()
	cert := state.PeerCertificates[0]
	if state.NegotiatedProtocol != "acme-tls/1" || len(cert.DNSNames) != 1 || cert.DNSNames[0] != a.order.name {
		return fmt.Errorf("shows %v for %q", cert.DNSNames, state.NegotiatedProtocol)
	}
	point, err := a.account.Bytes()
	if err != nil {
		return err
	}
	encode := base64.RawURLEncoding.EncodeToString
	thumbprint := sha256.Sum256(fmt.Appendf(nil, `{"crv":"P-256","kty":"EC","x":"%s","y":"%s"}`, encode(point[1:33]), encode(point[33:])))
	want := sha256.Sum256([]byte(a.order.token + "." + encode(thumbprint[:])))
	for _, extension := range cert.Extensions {
		if extension.Id.Equal(asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 1, 31}) {
			var got []byte
			if _, err := asn1.Unmarshal(extension.Value, &got); err != nil || !extension.Critical || !bytes.Equal(got, want[:]) {
				return errors.New("the answer to the challenge is wrong")
			}
			return nil
		}
	}
	return errors.New("there is no answer to the challenge")
}

// issue signs the certificate of a name that was proved.
func (a *authority) issue(payload []byte) error {
	var in struct{ CSR string }
	if err := json.Unmarshal(payload, &in); err != nil {
		return err
	}
	request, err := x509.ParseCertificateRequest(decode(in.CSR))
	if err != nil {
		return err
	}
	if err := request.CheckSignature(); err != nil {
		return err
	}
	if !a.order.valid || len(request.DNSNames) != 1 || request.DNSNames[0] != a.order.name {
		return fmt.Errorf("%v was not proved", request.DNSNames)
	}
	a.issued++
	template := &x509.Certificate{
		SerialNumber: big.NewInt(int64(a.issued + 1)), DNSNames: request.DNSNames, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(90 * 24 * time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.root, request.PublicKey, a.key)
	if err != nil {
		return err
	}
	for _, block := range [][]byte{der, a.root.Raw} {
		a.order.chain = append(a.order.chain, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: block})...)
	}
	return nil
}

func TestCertificateIsFetchedFromAnAuthority(t *testing.T) {
	t.Parallel()
	const name = "galley.test"
	a := newAuthority(t)
	data := t.TempDir()
	start := func() *process {
		server := serve(t, nil, "--data", data, "--acme-domains", "other.test,"+name, "--acme-directory", a.url+"/directory", "--acme-email", "ops@galley.test")
		a.find(server.address())
		return server
	}
	server := start()
	if !strings.HasPrefix(server.url, "https://") {
		t.Fatalf("listens on %s", server.url)
	}
	read := func(server *process, name string) (*http.Response, error) {
		resp, err := a.client(server.address(), name).Get(server.url + "/healthz")
		if err != nil {
			return nil, err
		}
		_, err = io.Copy(io.Discard, resp.Body)
		return resp, errors.Join(err, resp.Body.Close())
	}
	var resp *http.Response
	eventually(t, "there is a certificate", func() (ok bool) { // who waits for it may lose patience, and it comes all the same
		var err error
		resp, err = read(server, name)
		return err == nil
	})
	issued, contact, problem := a.state()
	if resp.StatusCode != 200 || resp.Header.Get("Strict-Transport-Security") != "max-age=31536000" {
		t.Errorf("%d, %v", resp.StatusCode, resp.Header)
	}
	if issued != 1 || len(contact) != 1 || contact[0] != "mailto:ops@galley.test" {
		t.Errorf("issued %d to %v (challenge: %v)\n%s", issued, contact, problem, &server.stderr)
	}

	// Names that are not ours cost the authority nothing.
	if _, err := read(server, "elsewhere.test"); err == nil {
		t.Error("a certificate for another name")
	}
	// It is kept: a restart must not use up the authority's patience.
	server.stop(t)
	if _, err := read(start(), name); err != nil {
		t.Errorf("after a restart: %v", err)
	}
	if issued, _, _ := a.state(); issued != 1 {
		t.Errorf("%d certificates were asked for, want 1", issued)
	}
}

// What goes wrong with the authority is told where the operator looks.
func TestFailureOfTheAuthorityIsLogged(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	server := serve(t, nil, "--acme-domains", "galley.test", "--acme-directory", a.url+"/directory")
	a.find(pgtest.FreeAddress(t)) // nobody answers there
	if resp, err := a.client(server.address(), "galley.test").Get(server.url + "/healthz"); err == nil {
		t.Fatalf("answered %d", resp.StatusCode)
	}
	eventually(t, "the log tells", func() bool {
		return strings.Contains(server.stderr.String(), "no certificate") && strings.Contains(server.stderr.String(), "galley.test")
	})
}
