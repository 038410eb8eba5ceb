package cli

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"strings"
	"time"

	"galley/internal/config"
)

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
	resp, err := c.client().Do(req)
	if err != nil {
		return fmt.Errorf("can't reach a server on %s: %w", addr, err)
	}
	if err := resp.Body.Close(); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the server on %s is not ready (status %d)", addr, resp.StatusCode)
	}
	t.printf("ready\n")
	return nil
}

// client returns a client that uses no proxy of the environment. It does not
// verify the certificate, which is for the server's public names, and sends
// nothing secret.
func (c *healthcheckCommand) client() *http.Client {
	encryption := &tls.Config{InsecureSkipVerify: true}
	if len(c.ACMEDomains) > 0 {
		encryption.ServerName = c.ACMEDomains[0]
	}
	return &http.Client{Transport: &http.Transport{TLSClientConfig: encryption}}
}
