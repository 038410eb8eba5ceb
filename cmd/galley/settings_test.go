package main_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"galley/internal/pgtest"
)

// The places where a setting can be given, the strongest first.
const (
	byFlag = iota
	byVariable
	byFile
)

// give writes settings, by flag name, to a place.
func give(t *testing.T, place int, settings map[string]string) (env, args []string) {
	t.Helper()
	var file strings.Builder
	for name, value := range settings {
		switch place {
		case byFlag:
			args = append(args, "--"+name, value)
		case byVariable:
			env = append(env, "GALLEY_"+strings.ToUpper(strings.ReplaceAll(name, "-", "_"))+"="+value)
		case byFile:
			file.WriteString(name + ": " + value + "\n")
		}
	}
	if place == byFile {
		args = append(args, "--config", configFile(t, file.String()))
	}
	return env, args
}

func configFile(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "galley.yaml")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestStrongerPlaceOfASettingWins(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ strong, weak int }{
		"flag over variable": {byFlag, byVariable},
		"flag over file":     {byFlag, byFile},
		"variable over file": {byVariable, byFile},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			want, other := newSettings(t, "error"), newSettings(t, "info")
			env1, args1 := give(t, test.strong, want)
			env2, args2 := give(t, test.weak, other)
			server := serveOn(t, append(env1, env2...), append(args1, args2...)...)
			checkSettings(t, server, want, other["data"])
		})
	}
}

func TestEachPlaceOfASettingWorksAlone(t *testing.T) {
	t.Parallel()
	for name, place := range map[string]int{"flag": byFlag, "variable": byVariable, "file": byFile} {
		t.Run(name, func(t *testing.T) {
			want := newSettings(t, "error")
			env, args := give(t, place, want)
			checkSettings(t, serveOn(t, env, args...), want, "galley-data")
		})
	}
}

func TestConfigFileCanBeNamedByVariable(t *testing.T) {
	t.Parallel()
	want := newSettings(t, "error")
	_, args := give(t, byFile, want)
	checkSettings(t, serveOn(t, []string{"GALLEY_CONFIG=" + args[1]}), want, "galley-data")
}

// What fills or changes a store must not take another one than the one that was
// typed.
func TestDataFolderThatIsTypedWinsOverADatabase(t *testing.T) {
	t.Parallel()
	const away = "postgres://u:hunter2@127.0.0.1:1/x"
	file := filepath.Join(t.TempDir(), "file")
	for name, weak := range map[string]int{"flag over variable": byVariable, "flag over file": byFile} {
		t.Run(name, func(t *testing.T) {
			named := func(data string, command ...string) (env, args []string) {
				env1, args1 := give(t, byFlag, map[string]string{"data": data})
				settings := map[string]string{"database-url": away}
				if slices.Contains(command, "--addr") { // what only a server knows goes with it
					settings["listen-url"], settings["replica-url"] = away, away
				}
				env2, args2 := give(t, weak, settings)
				return append(env1, env2...), append(append(command, args1...), args2...)
			}
			first, second := filepath.Join(t.TempDir(), "first"), filepath.Join(t.TempDir(), "second")
			for _, command := range [][]string{
				{"migrate"}, {"apps", "create", "--name", "Importer"}, {"apps", "list"}, {"doctor"}, {"backup", file},
			} {
				env, args := named(first, command...)
				if code, _, stderr := run(t, env, args...); code != 0 || !strings.HasPrefix(stderr, "galley: the database URL is not used") {
					t.Errorf("%v: exit code %d, %s", command, code, stderr)
				}
			}
			env, args := named(second, "restore", file)
			mustRun(t, env, args...)
			env, args = named(second, "--addr", "127.0.0.1:0")
			server := serveOn(t, env, args...)
			server.ready(t)
			server.stop(t)
			if log := server.stderr.String(); !strings.Contains(log, "the database URL is not used") {
				t.Errorf("the log does not say which store it is:\n%s", log)
			}
		})
	}
	// In one place, the database is meant.
	for _, place := range []int{byFlag, byVariable, byFile} {
		env, args := give(t, place, map[string]string{"data": t.TempDir(), "database-url": away})
		if stderr := refused(t, 1, env, append([]string{"migrate"}, args...)...); !strings.Contains(stderr, "can't reach") {
			t.Errorf("the message is another: %s", stderr)
		}
	}
}

func newSettings(t *testing.T, level string) map[string]string {
	t.Helper()
	return map[string]string{"addr": pgtest.FreeAddress(t), "data": filepath.Join(t.TempDir(), "data"), "log-level": level}
}

// checkSettings looks at what the server does, with settings whose level leaves
// requests out of the log.
func checkSettings(t *testing.T, server *process, want map[string]string, otherData string) {
	t.Helper()
	if server.address() != want["addr"] {
		t.Errorf("listens on %s, want %s", server.address(), want["addr"])
	}
	if _, err := os.Stat(filepath.Join(want["data"], "galley.db")); err != nil {
		t.Errorf("the database is not where it was asked for: %v", err)
	}
	if !filepath.IsAbs(otherData) {
		otherData = filepath.Join(server.cmd.Dir, otherData)
	}
	if _, err := os.Stat(otherData); !os.IsNotExist(err) {
		t.Errorf("another data folder was made: %v", err)
	}
	server.must(t, 200, "", "GET", "/healthz", "")
	server.stop(t)
	if log := server.stderr.String(); log != "" {
		t.Errorf("level error logs\n%s", log)
	}
}

// Every setting of the interface is known in all three places.
func TestRatesCanBeSetEverywhere(t *testing.T) {
	t.Parallel()
	for name, place := range map[string]int{"flag": byFlag, "variable": byVariable, "file": byFile} {
		t.Run(name, func(t *testing.T) {
			env, args := give(t, place, map[string]string{"app-rate": "7/60", "site-rate": "9/60", "auth-rate": "2/86400"})
			server := serve(t, env, args...)
			key := server.key(t)
			_, siteKey := server.newSite(t, key)

			for credential, want := range map[string]string{key: "7", siteKey: "9"} {
				if got := server.send(t, credential, "GET", "/v2/sites", "").header.Get("X-RateLimit-Limit"); got != want {
					t.Errorf("X-RateLimit-Limit %q, want %s", got, want)
				}
			}
			for _, want := range []int{401, 401, 429} {
				server.must(t, want, "", "GET", "/v2/sites", "")
			}
		})
	}
}

// YAML once read off as a boolean.
func TestRatesCanBeTurnedOffEverywhere(t *testing.T) {
	t.Parallel()
	for name, place := range map[string]int{"flag": byFlag, "variable": byVariable, "file": byFile} {
		t.Run(name, func(t *testing.T) {
			env, args := give(t, place, map[string]string{"app-rate": "off", "site-rate": "off", "auth-rate": "off"})
			server := serve(t, env, args...)
			if got := server.must(t, 200, server.key(t), "GET", "/v2/sites", "").header.Get("X-RateLimit-Limit"); got != "" {
				t.Errorf("X-RateLimit-Limit %q with rates off", got)
			}
			server.must(t, 401, "", "GET", "/v2/sites", "")
		})
	}
}

func TestBadSettingsAreRefused(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		place          int
		name, value    string
		says, alsoSays string
	}{
		"unknown flag":     {place: byFlag, name: "adr", value: "127.0.0.1:0", says: "--adr"},
		"unknown key":      {place: byFile, name: "adr", value: "127.0.0.1:0", says: "unknown", alsoSays: "adr"},
		"rate":             {place: byFlag, name: "app-rate", value: "fast", says: "--app-rate", alsoSays: "600/60"},
		"rate of zero":     {place: byFlag, name: "app-rate", value: "0/60", says: "--app-rate", alsoSays: "off"},
		"rate in variable": {place: byVariable, name: "site-rate", value: "10", says: "GALLEY_SITE_RATE", alsoSays: "600/60"},
		"rate in file":     {place: byFile, name: "auth-rate", value: "10/0", says: "auth-rate", alsoSays: "600/60"},
		"level":            {place: byFlag, name: "log-level", value: "loud", says: "--log-level", alsoSays: "debug"},
		"level in file":    {place: byFile, name: "log-level", value: "loud", says: "log-level", alsoSays: "debug"},
		"duration":         {place: byFlag, name: "site-retention", value: "30 days", says: "--site-retention"},
		"list in file":     {place: byFile, name: "addr", value: "[a, b]", says: "addr", alsoSays: "plain value"},
		"not YAML":         {place: byFile, name: "addr", value: "[", says: "galley.yaml", alsoSays: "YAML"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			env, args := give(t, test.place, map[string]string{test.name: test.value})
			code, stdout, stderr := run(t, env, append([]string{"serve"}, args...)...)
			if code == 0 || strings.Contains(stdout, "listens") {
				t.Errorf("exit code %d\n%s", code, stdout)
			}
			for _, word := range []string{"galley: ", test.says, test.alsoSays} {
				if !strings.Contains(stderr, word) {
					t.Errorf("the message does not say %q: %s", word, stderr)
				}
			}
			if stackTrace.MatchString(stderr) {
				t.Errorf("more than a message:\n%s", stderr)
			}
		})
	}
}

func TestMissingConfigFileIsRefused(t *testing.T) {
	t.Parallel()
	stderr := refused(t, 1, nil, "serve", "--config", "no-such.yaml")
	if !strings.Contains(stderr, "no-such.yaml") {
		t.Errorf("the message does not name the file: %s", stderr)
	}
}

// A variable with a typo would otherwise go unnoticed.
func TestUnknownVariableIsRefused(t *testing.T) {
	t.Parallel()
	stderr := refused(t, 1, []string{"GALLEY_APPRATE=1/60", "GALLEY_APP_RATE=5/60"}, "serve", "--addr", "127.0.0.1:0", "--data", t.TempDir())
	if !strings.Contains(stderr, "GALLEY_APPRATE (did you mean GALLEY_APP_RATE?)") {
		t.Errorf("the message does not name the setting: %s", stderr)
	}
}

func TestHelpAndVersionInEveryForm(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"help", "serve"}, {"help", "apps", "create"}, {"help", "apps"}} {
		if got, want := mustRun(t, nil, args...), mustRun(t, nil, append(args[1:], "--help")...); got != want {
			t.Errorf("galley %v prints\n%s", args, got)
		}
	}
	if got, want := mustRun(t, nil, "help"), mustRun(t, nil, "--help"); got != want {
		t.Errorf("galley help prints\n%s", got)
	}
	if got, want := mustRun(t, nil, "--version"), mustRun(t, nil, "version"); got != want || !strings.HasPrefix(got, "galley ") {
		t.Errorf("galley --version prints\n%s", got)
	}
	if stderr := refused(t, 2, nil, "help", "sereve"); !strings.Contains(stderr, `"serve"`) {
		t.Errorf("the message does not name the command: %s", stderr)
	}
}

func TestEveryCommandHasHelp(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		says    []string
		example bool
	}{
		"":            {[]string{"serve", "apps", "sites", "pages", "publish", "migrate", "keygen", "openapi", "healthcheck", "version"}, true},
		"serve":       {[]string{"--addr", "--data", "--database-url", "--app-rate", "--site-rate", "--auth-rate", "--config", "GALLEY_ADDR"}, true},
		"apps":        {[]string{"create", "list", "rate", "revoke"}, false},
		"apps create": {[]string{"--name", "--workspace", "--new-workspace", "--scopes", "--rate", "--json", "--data", "--database-url"}, true},
		"apps list":   {[]string{"--data", "--database-url"}, true},
		"apps rate":   {[]string{"<id>", "<rate>", "--data", "--database-url"}, true},
		"apps revoke": {[]string{"<id>", "--data", "--database-url"}, true},
		"migrate":     {[]string{"--data", "--database-url"}, true},
		"keygen":      {[]string{"GALLEY_BOOTSTRAP_KEY"}, false},
		"openapi":     {[]string{"OpenAPI document"}, false},
		"healthcheck": {[]string{"--addr"}, true},
		"version":     {[]string{"version"}, false},
	}
	for command, test := range tests {
		t.Run("galley "+command, func(t *testing.T) {
			help := mustRun(t, nil, append(strings.Fields(command), "--help")...)
			for _, word := range append(test.says, "Usage: galley") {
				if !strings.Contains(help, word) {
					t.Errorf("no %s in\n%s", word, help)
				}
			}
			// An example is a whole command line, beyond the line of usage.
			if test.example && strings.Count(help, "galley "+command) < 2 {
				t.Errorf("no example in\n%s", help)
			}
		})
	}
}
