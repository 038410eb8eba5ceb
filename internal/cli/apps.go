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

func (c *appsCreateCommand) Run(t *terminal) error {
	rate, err := readRate(c.Rate)
	if err != nil {
		return err
	}
	want := service.OperatorApp{Name: c.Name, Rate: rate, Scopes: readScopes(c.Scopes)}
	// An empty value, as of an unset shell variable, must not act like no flag.
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
	create := c.Workspace == nil // a workspace exists only in an existing store
	return withService(t, c.Store, create, func(svc *service.Service) error {
		created, err := svc.CreateOperatorApp(t.ctx, want)
		if err != nil {
			return err
		}
		if c.JSON {
			return json.NewEncoder(t.out).Encode(httpapi.NewAppWithKey(created.App, created.Key))
		}
		t.printf("Created app %s. Save its key, it is not shown again:\n\n  Key        %s\n  App        %s\n  Workspace  %s\n  Scopes     %s\n",
			printable(created.App.Name), created.Key, created.App.ID, created.App.WorkspaceID, joinScopes(created.App.Scopes))
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

// defaultRate stands for the rate in the server's settings.
const defaultRate = "default"

// readRate returns the stored form of a rate.
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

// printable quotes a name that has control characters, which could act on a
// terminal.
func printable(name string) string {
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

func (c *appsListCommand) Run(t *terminal) error {
	return withService(t, c.Store, false, func(svc *service.Service) error {
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
					w.ID, a.ID, printable(a.Name), a.KeyHint, joinScopes(a.Scopes), cmp.Or(a.Rate, defaultRate), used, printable(w.Name))
			}
		}
		return table.Flush()
	})
}

// appArgument is an app that a command changes.
type appArgument struct {
	config.Store

	ID string `arg:"" help:"The app's id; 'galley apps list' shows it."`
}

// change runs a change of the app and prints its result.
func (c *appArgument) change(t *terminal, change func(*service.Service, cms.ID) (cms.App, error), result func(cms.App) string) error {
	id, ok := cms.ParseID(c.ID)
	if !ok {
		return fmt.Errorf("%q is not an app's id", c.ID)
	}
	return withService(t, c.Store, false, func(svc *service.Service) error {
		app, err := change(svc, id)
		if err == nil {
			t.printf("App %s (%s): %s.\n", printable(app.Name), app.ID, result(app))
		}
		return err
	})
}

type appsRateCommand struct {
	appArgument

	Rate string `arg:"" help:"REQUESTS/SECONDS such as 600/60, off, or default for the server's setting."`
}

func (c *appsRateCommand) Run(t *terminal) error {
	rate, err := readRate(c.Rate)
	if err != nil {
		return err
	}
	return c.change(t, func(svc *service.Service, id cms.ID) (cms.App, error) { return svc.SetAppRate(t.ctx, id, rate) },
		func(app cms.App) string { return "the rate limit is " + cmp.Or(app.Rate, defaultRate) })
}

type appsScopesCommand struct {
	appArgument

	Scopes []string `arg:"" help:"All of its scopes: read, write, publish, admin, operator." sep:","`
}

func (c *appsScopesCommand) Run(t *terminal) error {
	return c.change(t, func(svc *service.Service, id cms.ID) (cms.App, error) {
		return svc.SetAppScopes(t.ctx, id, readScopes(c.Scopes))
	}, func(app cms.App) string { return "the scopes are " + joinScopes(app.Scopes) })
}

type appsRevokeCommand struct{ appArgument }

func (c *appsRevokeCommand) Run(t *terminal) error {
	return c.change(t, func(svc *service.Service, id cms.ID) (cms.App, error) { return svc.RevokeOperatorApp(t.ctx, id) },
		func(cms.App) string { return "revoked" })
}
