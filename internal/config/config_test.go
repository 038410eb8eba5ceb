package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"

	"galley/internal/config"
	"galley/internal/ratelimit"
)

// The settings of whoever runs the tests must not decide them.
func TestMain(m *testing.M) {
	for _, entry := range os.Environ() {
		if name, _, _ := strings.Cut(entry, "="); strings.HasPrefix(name, "GALLEY_") {
			_ = os.Unsetenv(name)
		}
	}
	os.Exit(m.Run())
}

// parse reads settings the way a command does: from a file's text, with flags
// over it.
func parse(t *testing.T, text string, args ...string) (config.Server, error) {
	t.Helper()
	var settings config.Server
	parser, err := kong.New(&settings, config.Durations)
	if err != nil {
		t.Fatal(err)
	}
	file, err := config.LoadFile(write(t, text))
	if err != nil {
		return settings, err
	}
	if err := file.Validate(parser.Model); err != nil {
		return settings, err
	}
	if err := kong.Resolvers(file).Apply(parser); err != nil {
		t.Fatal(err)
	}
	_, err = parser.Parse(args)
	return settings, err
}

func write(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "galley.yaml")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestFileSetsEveryKindOfSetting(t *testing.T) {
	got, err := parse(t, `# comments are fine
addr: 0.0.0.0:80
data: "/var/lib/galley"
database-url: postgres://galley@db/galley
app-rate: 600/60
site-rate: off
site-retention: 2d
log-level: warn
`)
	if err != nil {
		t.Fatal(err)
	}
	if got.Addr != "0.0.0.0:80" || got.Data != "/var/lib/galley" || got.DatabaseURL != "postgres://galley@db/galley" {
		t.Errorf("got %+v", got)
	}
	if want := (ratelimit.Rate{Requests: 600, Period: time.Minute}); got.AppRate != want || !got.SiteRate.Off() {
		t.Errorf("rates %v and %v, want %v and off", got.AppRate, got.SiteRate, want)
	}
	if got.SiteRetention != 48*time.Hour || got.LogLevel != "warn" {
		t.Errorf("got %v and %s", got.SiteRetention, got.LogLevel)
	}
}

// Some editors begin a file with a mark, and some people with a line of dashes.
func TestFileMayBeginAndEndAsYAMLDoes(t *testing.T) {
	for _, text := range []string{"\ufeffaddr: file:1\n", "---\naddr: file:1\n", "\ufeff---\naddr: file:1\n...\n", "# first\n---\naddr: file:1\n"} {
		if got, err := parse(t, text); err != nil || got.Addr != "file:1" {
			t.Errorf("%q: addr %q, %v", text, got.Addr, err)
		}
	}
}

// A folder that is typed is meant; otherwise a database is.
func TestDataFolderAndDatabase(t *testing.T) {
	const url = "postgres://galley@db/galley"
	for _, c := range []struct {
		name, file string
		variables  map[string]string
		args       []string
		sqlite     bool
	}{
		{"flag over variable", "", map[string]string{"GALLEY_DATABASE_URL": url}, []string{"--data", "d"}, true},
		{"flag over file", "database-url: " + url, nil, []string{"--data", "d"}, true},
		{"variable beside file", "database-url: " + url, map[string]string{"GALLEY_DATA": "d"}, nil, false}, // as a unit of systemd has it
		{"default", "database-url: " + url, nil, nil, false},
		{"both flags", "", nil, []string{"--data", "d", "--database-url", url}, false},
		{"both variables", "", map[string]string{"GALLEY_DATABASE_URL": url, "GALLEY_DATA": "d"}, nil, false},
		{"both in the file", "data: d\ndatabase-url: " + url, nil, nil, false},
		{"database by flag", "data: d", map[string]string{"GALLEY_DATA": "d"}, []string{"--database-url", url}, false},
		{"database by variable", "data: d", map[string]string{"GALLEY_DATABASE_URL": url}, nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			for name, value := range c.variables {
				t.Setenv(name, value)
			}
			got, err := parse(t, c.file, c.args...)
			if err != nil {
				t.Fatal(err)
			}
			if want := map[bool]string{true: "", false: url}[c.sqlite]; got.DatabaseURL != want || c.sqlite && got.Data != "d" || got.URLIgnored != c.sqlite {
				t.Errorf("got %+v", got.Store)
			}
		})
	}
}

func TestDefaultsFillWhatTheFileLeavesOut(t *testing.T) {
	for name, text := range map[string]string{"empty": "", "only a comment": "# nothing\n"} {
		got, err := parse(t, text)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got.Addr != "127.0.0.1:8080" || got.Data != "./galley-data" || got.DatabaseURL != "" || got.AppRate.Off() || got.SiteRate.Off() || got.AuthRate.Off() {
			t.Errorf("%s: got %+v", name, got)
		}
	}
}

func TestFlagWinsOverVariableWinsOverFile(t *testing.T) {
	const file = "addr: file:1\ndata: file\nlog-level: debug\n"
	t.Setenv("GALLEY_DATA", "variable")
	t.Setenv("GALLEY_LOG_LEVEL", "warn")
	got, err := parse(t, file, "--log-level", "error")
	if err != nil {
		t.Fatal(err)
	}
	if got.Addr != "file:1" || got.Data != "variable" || got.LogLevel != "error" {
		t.Errorf("addr %s, data %s, log-level %s; want file:1, variable, error", got.Addr, got.Data, got.LogLevel)
	}
}

func TestBadFilesAreRefused(t *testing.T) {
	tests := map[string]struct{ text, says string }{
		"unknown setting":      {"adr: x\n", "adr"},
		"every unknown one":    {"zzz: 1\naaa: 2\n", "aaa, zzz"},
		"upper case":           {"ADDR: x\n", "ADDR"},
		"the file itself":      {"config: other.yaml\n", "config"},
		"help":                 {"help: true\n", "help"},
		"not YAML":             {"addr: [\n", "not YAML"},
		"a list":               {"- addr\n", "not YAML"},
		"the same twice":       {"addr: a:1\naddr: b:2\n", "addr"},
		"list for a value":     {"addr: [a, b]\n", "addr"},
		"object for a value":   {"addr: {host: a}\n", "addr"},
		"nothing for a value":  {"addr:\n", "addr"},
		"bad rate":             {"app-rate: 600\n", "app-rate"},
		"bad duration":         {"site-retention: soon\n", "site-retention"},
		"a second document":    {"addr: a:1\n---\naddr: b:2\n", "document"},
		"after the end":        {"addr: a:1\n...\naddr: b:2\n", "document"},
		"level that is no one": {"log-level: loud\n", "log-level"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := parse(t, test.text)
			if err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("got %v, want an error that names %s", err, test.says)
			}
		})
	}
}

func TestMissingFileIsRefused(t *testing.T) {
	if _, err := config.LoadFile(filepath.Join(t.TempDir(), "none.yaml")); err == nil || !strings.Contains(err.Error(), "none.yaml") {
		t.Errorf("got %v, want an error that names the file", err)
	}
}

func TestUnknownVariables(t *testing.T) {
	var settings config.Server
	parser, err := kong.New(&settings, config.Durations)
	if err != nil {
		t.Fatal(err)
	}
	err = config.CheckVariables(parser.Model, []string{
		"GALLEY_ADDR=x", "GALLEY_REDIS_ULR=1", "GALLEY_ADR=secret", "HOME=/", "MY_GALLEY_ADDR=x", "GALLEY_BOOTSTRAP_KEY=k",
	})
	if err == nil || err.Error() != "unknown variables: GALLEY_ADR (did you mean GALLEY_ADDR?), GALLEY_REDIS_ULR (did you mean GALLEY_REDIS_URL?)" {
		t.Errorf("got %v", err)
	}
	// Kubernetes sets these for a service named galley, or galley-db.
	if err := config.CheckVariables(parser.Model, []string{
		"GALLEY_SERVICE_HOST=10.0.0.1", "GALLEY_SERVICE_PORT=80", "GALLEY_SERVICE_PORT_HTTP=80", "GALLEY_PORT=tcp://10.0.0.1:80",
		"GALLEY_PORT_80_TCP=tcp://10.0.0.1:80", "GALLEY_PORT_80_TCP_PROTO=tcp", "GALLEY_PORT_80_TCP_PORT=80", "GALLEY_DB_PORT_5432_TCP_ADDR=10.0.0.1",
	}); err != nil {
		t.Error(err)
	}
	if err := config.CheckVariables(parser.Model, []string{"GALLEY_PORT=8080"}); err == nil {
		t.Error("GALLEY_PORT is taken for a setting")
	}
}

func TestParseDuration(t *testing.T) {
	const day = 24 * time.Hour
	for text, want := range map[string]time.Duration{
		"30d": 30 * day, "400d": 400 * day, "1d12h": 36 * time.Hour, "1d0s": day, "0d": 0, "0": 0, "0s": 0, "720h": 30 * day, "90s": 90 * time.Second,
		"1h30m": 90 * time.Minute, "-1d": -day, "-1d12h": -36 * time.Hour, "1.5h": 90 * time.Minute, "2d1.5h": 2*day + 90*time.Minute,
	} {
		if got, err := config.ParseDuration(text); err != nil || got != want {
			t.Errorf("%s reads as %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "d", "30", "soon", "1.5d", "12h1d", "1d1d", "1d-1h", "1d48h", "30 d", "1D", "999999999d", "99999999999999999999d"} {
		if got, err := config.ParseDuration(text); err == nil {
			t.Errorf("%s reads as %v", text, got)
		}
	}
}
