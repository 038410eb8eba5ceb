package cli

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/crypto/acme"
	"golang.org/x/crypto/acme/autocert"

	"galley/internal/config"
	"galley/internal/server"
)

// scheme is the scheme of the URL of a server with these settings.
func scheme(certificate string, acmeDomains []string) string {
	if certificate != "" || len(acmeDomains) > 0 {
		return "https"
	}
	return "http"
}

// encryption returns the TLS configuration, or nil for plain HTTP. With ACME,
// certificates are requested when they are first needed, and renewed; the authority
// connects to port 443 (TLS-ALPN-01).
func (c *serveCommand) encryption(log *slog.Logger) (*tls.Config, error) {
	if c.TLSCert != "" {
		certificate, err := server.LoadCertificate(c.TLSCert, c.TLSKey, log)
		if err != nil {
			return nil, err
		}
		return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: certificate.Get}, nil
	}
	if len(c.ACMEDomains) == 0 {
		return nil, nil //nolint:nilnil // plain HTTP has no configuration
	}
	manager := &autocert.Manager{
		Prompt:     autocert.AcceptTOS,
		Cache:      autocert.DirCache(cmp.Or(c.ACMECache, filepath.Join(c.Data, "acme"))),
		HostPolicy: autocert.HostWhitelist(c.ACMEDomains...),
		Email:      c.ACMEEmail,
		Client:     &acme.Client{DirectoryURL: c.ACMEDirectory, UserAgent: "galley/" + Version},
	}
	encryption := manager.TLSConfig()
	encryption.MinVersion = tls.VersionTLS12
	encryption.GetCertificate = func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		certificate, err := manager.GetCertificate(hello)
		// Clients may ask for any name; only the configured ones are logged.
		if err != nil && slices.Contains(c.ACMEDomains, hello.ServerName) {
			log.Error("no certificate", "name", hello.ServerName, "error", err.Error())
		}
		return certificate, err
	}
	return encryption, nil
}

type healthcheckCommand struct {
	Addr        string       `help:"Address that the server listens on." default:"127.0.0.1:8080" env:"GALLEY_ADDR" placeholder:"HOST:PORT"`
	TLSCert     string       `help:"The server's --tls-cert: use HTTPS." name:"tls-cert" env:"GALLEY_TLS_CERT" placeholder:"FILE"`
	ACMEDomains config.Names `help:"The server's --acme-domains: use HTTPS." name:"acme-domains" env:"GALLEY_ACME_DOMAINS" placeholder:"NAMES"`
}

const healthcheckTimeout = 5 * time.Second

func (c *healthcheckCommand) Run(t *terminal) error {
	ctx, cancel := context.WithTimeout(t.ctx, healthcheckTimeout)
	defer cancel()
	addr := c.Addr
	if host, port, ok := strings.Cut(addr, ":"); ok && (host == "" || host == "0.0.0.0") {
		addr = "127.0.0.1:" + port
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme(c.TLSCert, c.ACMEDomains)+"://"+addr+"/readyz", nil)
	if err != nil {
		return err
	}
	// The certificate is for the server's public names, and nothing secret is sent.
	encryption := &tls.Config{InsecureSkipVerify: true}
	if len(c.ACMEDomains) > 0 {
		encryption.ServerName = c.ACMEDomains[0]
	}
	resp, err := (&http.Transport{TLSClientConfig: encryption}).RoundTrip(req) // by no proxy of the environment
	if err != nil {
		return fmt.Errorf("can't reach a server on %s: %w", addr, err)
	}
	_ = resp.Body.Close() // the status is enough
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the server on %s is not ready (status %d)", addr, resp.StatusCode)
	}
	t.printf("ready\n")
	return nil
}
