package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"galley/internal/cms"
	"galley/internal/config"
	"galley/internal/service"
)

type consoleCommand struct {
	config.Store

	App         string       `help:"App to sign in with, by id (default the oldest one with every scope)." placeholder:"ID"`
	URL         string       `help:"Address of the server (default as --addr has it)." name:"url" placeholder:"URL"`
	Addr        string       `help:"Address that the server listens on." default:"127.0.0.1:8080" env:"GALLEY_ADDR" placeholder:"HOST:PORT"`
	TLSCert     string       `help:"The server's --tls-cert: use HTTPS." name:"tls-cert" env:"GALLEY_TLS_CERT" placeholder:"FILE"`
	ACMEDomains config.Names `help:"The server's --acme-domains: use HTTPS." name:"acme-domains" env:"GALLEY_ACME_DOMAINS" placeholder:"NAMES"`
}

func (c *consoleCommand) Run(t *terminal) error {
	return withService(t, c.Store, false, func(svc *service.Service) error {
		app, err := c.app(t, svc)
		if err != nil {
			return err
		}
		token, err := svc.ConsoleLink(t.ctx, app)
		if err != nil {
			return err
		}
		t.printf("Signs you in once, within 30 minutes, as %s:\n\n  %s\n", printable(app.Name), startLink(c.address(), token))
		return nil
	})
}

func startLink(address string, token cms.SessionToken) string {
	return address + "/console/start#" + string(token)
}

func (c *consoleCommand) address() string {
	switch {
	case c.URL != "":
		return strings.TrimSuffix(c.URL, "/")
	case len(c.ACMEDomains) > 0:
		return "https://" + c.ACMEDomains[0]
	}
	addr := c.Addr
	if host, port, ok := strings.Cut(addr, ":"); ok && (host == "" || host == "0.0.0.0") {
		addr = "127.0.0.1:" + port
	}
	return scheme(c.TLSCert, c.ACMEDomains) + "://" + addr
}

// app finds the app to sign in with.
func (c *consoleCommand) app(t *terminal, svc *service.Service) (cms.App, error) {
	workspaces, err := svc.OperatorApps(t.ctx)
	if err != nil {
		return cms.App{}, err
	}
	fits := func(a cms.App) bool {
		if c.App != "" {
			return a.ID.String() == strings.ToLower(c.App)
		}
		everything := !slices.ContainsFunc(cms.Scopes, func(s cms.Scope) bool { return !a.Has(s) })
		return everything && a.SiteIDs == nil && (a.ExpiresAt == nil || a.ExpiresAt.After(now()))
	}
	for _, w := range workspaces {
		if i := slices.IndexFunc(w.Apps, fits); i >= 0 {
			return w.Apps[i], nil
		}
	}
	if c.App != "" {
		return cms.App{}, fmt.Errorf("there is no app %s: 'galley apps list' lists them", c.App)
	}
	return cms.App{}, errors.New("there is no app with every scope: name one with --app, or create one with 'galley apps create'")
}
