package cli

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"path/filepath"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/crypto/acme"
	"golang.org/x/crypto/acme/autocert"

	"galley/internal/server"
)

// checkEdge refuses settings of the network that make no sense together.
func (c *serveCommand) checkEdge() error {
	files, fetched := c.TLSCert != "" || c.TLSKey != "", len(c.ACMEDomains) > 0
	switch {
	case c.MaxConnections < 1 || c.MaxInFlight < 1:
		return errors.New("--max-connections and --max-in-flight must be at least 1")
	case (c.TLSCert == "") != (c.TLSKey == ""):
		return errors.New("--tls-cert and --tls-key go together: give both, or neither")
	case files && fetched:
		return errors.New("--tls-cert and --acme-domains are two ways to a certificate: choose one")
	case !fetched && (c.ACMEEmail != "" || c.ACMEDirectory != "" || c.ACMECache != ""):
		return errors.New("the --acme settings need --acme-domains, the names that the certificate is for")
	case c.ListenURL != "" && c.DatabaseURL == "":
		return errors.New("--listen-url needs --database-url: on SQLite there are no other nodes to listen to")
	case fetched && c.ACMECache == "" && c.DatabaseURL != "":
		return errors.New("--acme-domains with --database-url needs --acme-cache, a folder that outlives the program")
	}
	return nil
}

// scheme is how the server is spoken to.
func (c *serveCommand) scheme() string {
	if c.TLSCert != "" || len(c.ACMEDomains) > 0 {
		return "https"
	}
	return "http"
}

// encryption is how the server speaks TLS, or nil if it does not.
func (c *serveCommand) encryption(log *slog.Logger) (*tls.Config, error) {
	switch {
	case c.TLSCert != "":
		certificate, err := server.LoadCertificate(c.TLSCert, c.TLSKey, log)
		if err != nil {
			return nil, err
		}
		return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: certificate.Get}, nil
	case len(c.ACMEDomains) > 0:
		return c.fetchedCertificates(log), nil
	default:
		return nil, nil //nolint:nilnil // plain HTTP has no configuration
	}
}

// fetchedCertificates gets certificates from an authority when they are first
// asked for, and renews them. The authority looks at port 443 (TLS-ALPN-01).
func (c *serveCommand) fetchedCertificates(log *slog.Logger) *tls.Config {
	folder := c.ACMECache
	if folder == "" {
		folder = filepath.Join(c.Data, "acme")
	}
	manager := &autocert.Manager{
		Prompt:     autocert.AcceptTOS,
		Cache:      autocert.DirCache(folder),
		HostPolicy: autocert.HostWhitelist(c.ACMEDomains...),
		Email:      c.ACMEEmail,
		Client:     &acme.Client{DirectoryURL: c.ACMEDirectory, UserAgent: "galley/" + Version},
	}
	config := manager.TLSConfig()
	config.MinVersion = tls.VersionTLS12
	config.GetCertificate = func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		certificate, err := manager.GetCertificate(hello)
		// Strangers may ask for any name; only our own are worth a line.
		if err != nil && slices.Contains(c.ACMEDomains, hello.ServerName) {
			log.Error("no certificate", "name", hello.ServerName, "error", err.Error())
		}
		return certificate, err
	}
	return config
}

// server makes the server that the settings ask for.
func (c *serveCommand) server(encryption *tls.Config, check func(context.Context) error, registry *prometheus.Registry, log *slog.Logger, jobs []server.Job) *server.Server {
	srv := server.New(log, c.DrainDelay, jobs...)
	srv.TLS, srv.Check = encryption, check
	srv.MaxConnections = server.RoomFor(c.MaxConnections)
	if srv.MaxConnections < c.MaxConnections {
		log.Warn("the limit on open files leaves room for fewer connections than --max-connections: raise it, or lower the setting",
			"connections", srv.MaxConnections, "wanted", c.MaxConnections)
	}
	registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "galley_http_connections", Help: "Connections that are open.",
	}, func() float64 { return float64(srv.Connections()) }))
	return srv
}
