package main_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"galley/internal/pgtest"
)

// createdApp is what apps create --json prints.
type createdApp struct {
	Object, ID, WorkspaceID, Name, KeyHint, Key string
	Scopes                                      []string
}

func createApp(t *testing.T, args ...string) createdApp {
	t.Helper()
	stdout := mustRun(t, nil, append([]string{"apps", "create", "--json"}, args...)...)
	var app createdApp
	if err := json.Unmarshal([]byte(stdout), &app); err != nil {
		t.Fatalf("not one JSON object: %v\n%s", err, stdout)
	}
	return app
}

func TestAppsCreateAsJSONHasEveryFieldOfTheApp(t *testing.T) {
	t.Parallel()
	onBothEngines(t, func(t *testing.T, store ...string) {
		stdout := mustRun(t, nil, append([]string{"apps", "create", "--json", "--name", "Importer"}, store...)...)
		var app map[string]any
		if err := json.Unmarshal([]byte(stdout), &app); err != nil {
			t.Fatalf("not one JSON object: %v\n%s", err, stdout)
		}
		for _, field := range []string{
			"key", "object", "id", "workspaceId", "name", "description", "keyHint", "scopes", "siteIds", "createdAt", "lastUsedAt", "expiresAt",
		} {
			if _, ok := app[field]; !ok {
				t.Errorf("no %s in %s", field, stdout)
			}
		}
		if app["object"] != "app" || app["name"] != "Importer" {
			t.Errorf("got %s", stdout)
		}
		if key, _ := app["key"].(string); !strings.HasSuffix(key, app["keyHint"].(string)) {
			t.Errorf("key %s has the hint %s", key, app["keyHint"])
		}
	})
}

func TestAppsCreateWithoutAServer(t *testing.T) {
	t.Parallel()
	onBothEngines(t, func(t *testing.T, store ...string) {
		plain := mustRun(t, nil, append([]string{"apps", "create", "--name", "Importer"}, store...)...)
		key, workspace := found(t, printedKey, plain), found(t, printedWorkspace, plain)

		server := serve(t, nil, store...)
		if id := server.must(t, 200, key, "GET", "/v2/workspace", "").field(t, "id"); id != workspace {
			t.Errorf("the key is of workspace %s, printed was %s", id, workspace)
		}
	})
}

func TestAppsCreateBesideARunningServer(t *testing.T) {
	t.Parallel()
	onBothEngines(t, func(t *testing.T, store ...string) {
		server := serve(t, nil, store...)
		workspace := found(t, printedWorkspace, server.stdout.String())

		plain := mustRun(t, nil, append([]string{"apps", "create", "--name", "Importer"}, store...)...)
		if got := found(t, printedWorkspace, plain); got != workspace {
			t.Errorf("made in workspace %s, want the only one, %s", got, workspace)
		}
		server.must(t, 200, found(t, printedKey, plain), "GET", "/v2/sites", "")
	})
}

func TestAppsCreateInANamedOrNewWorkspace(t *testing.T) {
	t.Parallel()
	onBothEngines(t, func(t *testing.T, store ...string) {
		server := serve(t, nil, store...)
		siteID, _ := server.newSite(t, server.key(t))

		agency := createApp(t, append(store, "--name", "Agency", "--new-workspace", "Second customer")...)
		second := server.must(t, 200, agency.Key, "GET", "/v2/workspace", "")
		if second.field(t, "id") != agency.WorkspaceID || second.field(t, "name") != "Second customer" {
			t.Errorf("got %s, want workspace %s", second.body, agency.WorkspaceID)
		}
		server.must(t, 403, agency.Key, "GET", "/v2/sites/"+siteID, "")

		partner := createApp(t, append(store, "--name", "Partner", "--workspace", agency.WorkspaceID)...)
		if partner.WorkspaceID != agency.WorkspaceID {
			t.Errorf("made in workspace %s, want %s", partner.WorkspaceID, agency.WorkspaceID)
		}

		// With two workspaces there is no telling which one is meant.
		stderr := refused(t, 1, nil, append([]string{"apps", "create", "--name", "Whose"}, store...)...)
		if !strings.Contains(stderr, "--workspace") {
			t.Errorf("the message does not say what to do: %s", stderr)
		}
	})
}

func TestAppsCreateWithScopes(t *testing.T) {
	t.Parallel()
	onBothEngines(t, func(t *testing.T, store ...string) {
		server := serve(t, nil, store...)
		tests := map[string]struct{ list, create, metrics int }{
			"read":                     {200, 403, 403},
			"read,write":               {200, 201, 403},
			"admin":                    {403, 403, 403},
			"operator":                 {403, 403, 200},
			"read,write,publish,admin": {200, 201, 403},
		}
		for scopes, want := range tests {
			app := createApp(t, append(store, "--name", "App", "--scopes", scopes)...)
			if got := strings.Join(app.Scopes, ","); got != scopes {
				t.Errorf("asked for %s, made with %s", scopes, got)
			}
			server.must(t, want.list, app.Key, "GET", "/v2/sites", "")
			server.must(t, want.create, app.Key, "POST", "/v2/sites", `{"name":"Shop"}`)
			server.must(t, want.metrics, app.Key, "GET", "/metrics", "")
		}
		if app := createApp(t, append(store, "--name", "App")...); strings.Join(app.Scopes, ",") != "read,write,publish,admin" {
			t.Errorf("the default scopes are %v", app.Scopes)
		}
	})
}

func TestAppsListShowsEveryAppAndNoKey(t *testing.T) {
	t.Parallel()
	onBothEngines(t, func(t *testing.T, store ...string) {
		first := createApp(t, append(store, "--name", "Importer")...)
		second := createApp(t, append(store, "--name", "Agency", "--new-workspace", "Second", "--scopes", "read")...)

		list := mustRun(t, nil, append([]string{"apps", "list"}, store...)...)
		for _, word := range []string{
			first.ID, first.WorkspaceID, "Importer", first.KeyHint, second.ID, second.WorkspaceID, "Agency", second.KeyHint, "Second",
		} {
			if !strings.Contains(list, word) {
				t.Errorf("no %s in\n%s", word, list)
			}
		}
		if strings.Contains(list, "sk_") {
			t.Errorf("a key is listed:\n%s", list)
		}
	})
}

func TestAppsRevokeTurnsARunningServerAgainstTheKey(t *testing.T) {
	t.Parallel()
	onBothEngines(t, func(t *testing.T, store ...string) {
		server := serve(t, nil, store...)
		app := createApp(t, append(store, "--name", "Importer")...)
		server.must(t, 200, app.Key, "GET", "/v2/sites", "")

		mustRun(t, nil, append([]string{"apps", "revoke", app.ID}, store...)...)
		eventually(t, "the server has heard of it", func() bool { return server.send(t, app.Key, "GET", "/v2/sites", "").status == 401 })
		server.must(t, 200, server.key(t), "GET", "/v2/sites", "")

		if list := mustRun(t, nil, append([]string{"apps", "list"}, store...)...); strings.Contains(list, app.ID) {
			t.Errorf("a revoked app is listed:\n%s", list)
		}
		refused(t, 1, nil, append([]string{"apps", "revoke", app.ID}, store...)...)
	})
}

func TestBadAppsCommandsAreRefused(t *testing.T) {
	t.Parallel()
	const unknown = "01980a5c-7d3e-7f00-8a3b-5f0d4c1e2a6b"
	data := t.TempDir()
	mustRun(t, nil, "migrate", "--data", data)
	tests := map[string]struct {
		code int
		args []string
		says string
	}{
		"no name":             {2, []string{"create"}, "--name"},
		"blank name":          {1, []string{"create", "--name", " "}, "name"},
		"unknown scope":       {1, []string{"create", "--name", "App", "--scopes", "read,everything"}, "scopes"},
		"workspace no id":     {1, []string{"create", "--name", "App", "--workspace", "mine"}, "--workspace"},
		"unknown workspace":   {1, []string{"create", "--data", data, "--name", "App", "--workspace", unknown}, "Workspace not found"},
		"workspace of none":   {1, []string{"create", "--name", "App", "--workspace", unknown}, "no store"},
		"blank new workspace": {1, []string{"create", "--name", "App", "--new-workspace", " "}, "workspace"},
		"empty workspace":     {1, []string{"create", "--name", "App", "--workspace", ""}, "--workspace"},
		"empty new workspace": {1, []string{"create", "--name", "App", "--new-workspace", ""}, "--new-workspace"},
		"empty scopes":        {1, []string{"create", "--name", "App", "--scopes", ""}, "scopes"},
		"empty rate":          {1, []string{"create", "--name", "App", "--rate", ""}, "rate"},
		"rate empty":          {1, []string{"rate", "--data", data, unknown, ""}, "rate"},
		"both workspaces":     {2, []string{"create", "--name", "App", "--workspace", unknown, "--new-workspace", "New"}, "--new-workspace"},
		"revoke nothing":      {2, []string{"revoke"}, "<id>"},
		"revoke no id":        {1, []string{"revoke", "importer"}, "importer"},
		"revoke unknown":      {1, []string{"revoke", "--data", data, unknown}, "not found"},
		"no store":            {1, []string{"revoke", unknown}, "no store"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			place := filepath.Join(t.TempDir(), "data")
			stderr := refused(t, test.code, []string{"GALLEY_DATA=" + place}, append([]string{"apps"}, test.args...)...)
			if !strings.Contains(stderr, test.says) {
				t.Errorf("the message does not say %q: %s", test.says, stderr)
			}
			if _, err := os.Stat(place); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("something was made: %v", err)
			}
		})
	}
}

// Whoever mistypes the folder has a key that works nowhere.
func TestAppsOfANewStore(t *testing.T) {
	t.Parallel()
	empty := pgtest.URL(t)
	for name, store := range map[string][]string{"sqlite": {"--data", filepath.Join(t.TempDir(), "new")}, "postgres": {"--database-url", empty}} {
		for _, command := range [][]string{{"list"}, {"revoke", "01980a5c-7d3e-7f00-8a3b-5f0d4c1e2a6b"}} {
			if stderr := refused(t, 1, nil, append(append([]string{"apps"}, command...), store...)...); !strings.Contains(stderr, "no store") {
				t.Errorf("%s, %v: %s", name, command, stderr)
			}
		}
		create := append([]string{"apps", "create", "--name", "App"}, store...)
		if code, _, stderr := run(t, nil, create...); code != 0 || !strings.Contains(stderr, "there was no store yet") {
			t.Errorf("%s: nothing is said of a new store: %d, %s", name, code, stderr)
		}
		if code, _, stderr := run(t, nil, create...); code != 0 || stderr != "" {
			t.Errorf("%s: %d, %s", name, code, stderr)
		}
	}
}

// A name comes from whoever has an admin key; the operator's terminal must not
// obey it, or show a line that is none.
func TestNamesCanNotActOnATerminal(t *testing.T) {
	t.Parallel()
	for name, shown := range map[string]string{
		"\x1b[2J\x1b]0;owned\aApp": `"\x1b[2J\x1b]0;owned\aApp"`,
		"App\nWORKSPACE\tgone":     `"App\nWORKSPACE\tgone"`,
		"App\u009b31m":             `"App\u009b31m"`,
		"App \u202eppa":            `"App \u202eppa"`,
		`Müller's "best" \ 東京 🚀`:   `Müller's "best" \ 東京 🚀`,
	} {
		data := t.TempDir()
		said := mustRun(t, nil, "apps", "create", "--data", data, "--name", name, "--new-workspace", name)
		id := found(t, regexp.MustCompile(`(?m)^\s*App\s+(\S+)$`), said)
		for _, args := range [][]string{{"list"}, {"rate", id, "off"}, {"revoke", id}} {
			more := mustRun(t, nil, append(append([]string{"apps"}, args...), "--data", data)...)
			if !strings.Contains(more, shown) {
				t.Errorf("apps %s does not show %s:\n%q", args[0], shown, more)
			}
			said += more
		}
		if name != shown && strings.Contains(said, name) {
			t.Errorf("%q is printed as it is:\n%q", name, said)
		}
		if !strings.Contains(said, "Created app "+shown+".") {
			t.Errorf("apps create does not show %s:\n%q", shown, said)
		}
	}
}
