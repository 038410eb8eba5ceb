package cli

import (
	"cmp"
	"crypto/tls"
	"log/slog"
	"path/filepath"
	"slices"

	"golang.org/x/crypto/acme"
	"golang.org/x/crypto/acme/autocert"

	"galley/internal/server"
)

// scheme is the scheme of the URL of a server with these settings.
func scheme(certificate string, acmeDomains []string) string {
	if certificate != "" || len(acmeDomains) > 0 {
		return "https"
	}
	return "http"
}

// encryption returns the TLS configuration, or nil for plain HTTP.
func (c *serveCommand) encryption(log *slog.Logger) (*tls.Config, error) {
	switch {
	case c.TLSCert != "":
		certificate, err := server.LoadCertificate(c.TLSCert, c.TLSKey, log)
		if err != nil {
			return nil, err
		}
		return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: certificate.Get}, nil
	case len(c.ACMEDomains) > 0:
		return c.acmeCertificates(log), nil
	}
	return nil, nil //nolint:nilnil // plain HTTP has no configuration
}

// acmeCertificates requests certificates from an ACME authority when they are
// first needed, and renews them. The authority connects to port 443
// (TLS-ALPN-01).
func (c *serveCommand) acmeCertificates(log *slog.Logger) *tls.Config {
	manager := &autocert.Manager{
		Prompt:     autocert.AcceptTOS,
		Cache:      autocert.DirCache(cmp.Or(c.ACMECache, filepath.Join(c.Data, "acme"))),
		HostPolicy: autocert.HostWhitelist(c.ACMEDomains...),
		Email:      c.ACMEEmail,
		Client:     &acme.Client{DirectoryURL: c.ACMEDirectory, UserAgent: "galley/" + Version},
	}
	config := manager.TLSConfig()
	config.MinVersion = tls.VersionTLS12
	config.GetCertificate = func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		certificate, err := manager.GetCertificate(hello)
		// Clients may ask for any name; only the configured ones are logged.
		if err != nil && slices.Contains(c.ACMEDomains, hello.ServerName) {
			log.Error("no certificate", "name", hello.ServerName, "error", err.Error())
		}
		return certificate, err
	}
	return config
}
