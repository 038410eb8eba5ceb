package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"galley/internal/cms"
	"galley/internal/config"
	"galley/internal/httpapi"
	"galley/internal/ratelimit"
	"galley/internal/service"
)

var now = time.Now

type appsCommand struct {
	Create appsCreateCommand `cmd:"" help:"Create an app and print its key."`
	List   appsListCommand   `cmd:"" help:"List the apps of every workspace."`
	Rate   appsRateCommand   `cmd:"" help:"Set the rate limit of an app."`
	Scopes appsScopesCommand `cmd:"" help:"Set what an app may do."`
	Revoke appsRevokeCommand `cmd:"" help:"Revoke an app: its keys stop working."`
}

type appsCreateCommand struct {
	config.Store

	Name         string   `help:"Name of the app." required:"" placeholder:"NAME"`
	Workspace    *string  `help:"Workspace of the app, by id." xor:"workspace" placeholder:"ID"`
	NewWorkspace *string  `help:"Create a workspace with this name for the app." xor:"workspace" placeholder:"NAME"`
	Scopes       []string `help:"What the app may do: read, write, publish, admin, operator (default ${default})." default:"read,write,publish,admin" placeholder:"SCOPES"`
	Rate         string   `help:"Rate limit of the app's own: REQUESTS/SECONDS, off, or default (default ${default})." default:"default" placeholder:"RATE"`
	JSON         bool     `help:"Print one JSON object." name:"json"`
}

func (c *appsCreateCommand) Help() string {
	return `Examples:
  galley apps create --name Importer
  galley apps create --name Reader --scopes read --rate 600/60 --json
  galley apps create --name Agency --new-workspace "Second customer"`
}

func (c *appsCreateCommand) Run(t *terminal) error {
	rate, err := readRate(c.Rate)
	if err != nil {
		return err
	}
	want := service.OperatorApp{Name: c.Name, Rate: rate}
	want.Scopes = readScopes(c.Scopes)
	// A shell's variable may be empty: what is given is meant.
	if c.Workspace != nil {
		id, ok := cms.ParseID(*c.Workspace)
		if !ok {
			return fmt.Errorf("--workspace %q is not an id", *c.Workspace)
		}
		want.WorkspaceID = id
	}
	if c.NewWorkspace != nil {
		if *c.NewWorkspace == "" {
			return errors.New("--new-workspace must be a name")
		}
		want.NewWorkspace = *c.NewWorkspace
	}
	if err := want.Check(now()); err != nil {
		return err
	}
	with := withNewService
	if c.Workspace != nil { // which is in a store that is there
		with = withService
	}
	return with(t, c.Store, func(svc *service.Service) error {
		made, err := svc.CreateOperatorApp(t.ctx, want)
		if err != nil {
			return err
		}
		if c.JSON {
			enc := json.NewEncoder(t.out)
			return enc.Encode(httpapi.NewAppWithKey(made.App, made.Key))
		}
		t.printf("Made app %s. Its key is not shown again:\n\n  Key        %s\n  App        %s\n  Workspace  %s\n  Scopes     %s\n",
			shown(made.App.Name), made.Key, made.App.ID, made.App.WorkspaceID, joinScopes(made.App.Scopes))
		return nil
	})
}

func readScopes(names []string) []cms.Scope {
	scopes := make([]cms.Scope, len(names))
	for i, name := range names {
		scopes[i] = cms.Scope(strings.TrimSpace(name))
	}
	return scopes
}

// defaultRate is the word for the rate that the server is configured with.
const defaultRate = "default"

// readRate turns a rate as people write it into the one that is stored.
func readRate(text string) (string, error) {
	if text == defaultRate {
		return "", nil
	}
	var rate ratelimit.Rate
	if err := rate.UnmarshalText([]byte(text)); err != nil {
		return "", fmt.Errorf("%w, or default", err)
	}
	return rate.String(), nil
}

// shown is a name for a terminal: one that could act on it, or be more than its
// line, is quoted.
func shown(name string) string {
	if strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(name)
	}
	return name
}

func joinScopes(scopes []cms.Scope) string {
	list := make([]string, len(scopes))
	for i, s := range scopes {
		list[i] = string(s)
	}
	return strings.Join(list, ",")
}

type appsListCommand struct{ config.Store }

func (c *appsListCommand) Help() string {
	return "Example:\n  galley apps list"
}

func (c *appsListCommand) Run(t *terminal) error {
	return withService(t, c.Store, func(svc *service.Service) error {
		workspaces, err := svc.OperatorApps(t.ctx)
		if err != nil {
			return err
		}
		table := tabwriter.NewWriter(t.out, 0, 0, 2, ' ', 0)
		_, _ = fmt.Fprintln(table, "WORKSPACE\tAPP\tNAME\tKEY\tSCOPES\tRATE\tLAST USED\tWORKSPACE NAME")
		for _, w := range workspaces {
			for _, a := range w.Apps {
				used := "never"
				if a.LastUsedAt != nil {
					used = a.LastUsedAt.Format(time.DateTime)
				}
				_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t…%s\t%s\t%s\t%s\t%s\n",
					w.ID, a.ID, shown(a.Name), a.KeyHint, joinScopes(a.Scopes), cmp.Or(a.Rate, defaultRate), used, shown(w.Name))
			}
		}
		return table.Flush()
	})
}

type appsRateCommand struct {
	config.Store

	ID   string `arg:"" help:"The app's id; 'galley apps list' shows it."`
	Rate string `arg:"" help:"REQUESTS/SECONDS such as 600/60, off, or default for the server's setting."`
}

func (c *appsRateCommand) Help() string {
	return `A running server hears of it within a tenth of a second.

Example:
  galley apps rate 01980a5c-7d3e-7f00-8a3b-5f0d4c1e2a6b 600/60`
}

func (c *appsRateCommand) Run(t *terminal) error {
	id, ok := cms.ParseID(c.ID)
	if !ok {
		return fmt.Errorf("%q is not an app's id", c.ID)
	}
	rate, err := readRate(c.Rate)
	if err != nil {
		return err
	}
	return withService(t, c.Store, func(svc *service.Service) error {
		app, err := svc.SetAppRate(t.ctx, id, rate)
		if err == nil {
			t.printf("The rate limit of app %s (%s) is %s.\n", shown(app.Name), app.ID, cmp.Or(app.Rate, defaultRate))
		}
		return err
	})
}

type appsScopesCommand struct {
	config.Store

	ID     string   `arg:"" help:"The app's id; 'galley apps list' shows it."`
	Scopes []string `arg:"" help:"All of its scopes: read, write, publish, admin, operator." sep:","`
}

func (c *appsScopesCommand) Help() string {
	return "Example:\n  galley apps scopes 01980a5c-7d3e-7f00-8a3b-5f0d4c1e2a6b read,write,publish,admin,operator"
}

func (c *appsScopesCommand) Run(t *terminal) error {
	id, ok := cms.ParseID(c.ID)
	if !ok {
		return fmt.Errorf("%q is not an app's id", c.ID)
	}
	return withService(t, c.Store, func(svc *service.Service) error {
		app, err := svc.SetAppScopes(t.ctx, id, readScopes(c.Scopes))
		if err == nil {
			t.printf("The scopes of app %s (%s) are %s.\n", shown(app.Name), app.ID, joinScopes(app.Scopes))
		}
		return err
	})
}

type appsRevokeCommand struct {
	config.Store

	ID string `arg:"" help:"The app's id; 'galley apps list' shows it."`
}

func (c *appsRevokeCommand) Help() string {
	return "Example:\n  galley apps revoke 01980a5c-7d3e-7f00-8a3b-5f0d4c1e2a6b"
}

func (c *appsRevokeCommand) Run(t *terminal) error {
	id, ok := cms.ParseID(c.ID)
	if !ok {
		return fmt.Errorf("%q is not an app's id", c.ID)
	}
	return withService(t, c.Store, func(svc *service.Service) error {
		app, err := svc.RevokeOperatorApp(t.ctx, id)
		if err == nil {
			t.printf("Revoked app %s (%s).\n", shown(app.Name), app.ID)
		}
		return err
	})
}
