package cli_test

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"galley/internal/cli"
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

func run(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errOut bytes.Buffer
	code = cli.Run(t.Context(), args, &out, &errOut)
	return code, out.String(), errOut.String()
}

func TestExitCodesTellMisuseFromFailure(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		args []string
		code int
	}{
		"nothing asked":      {nil, 0},
		"help":               {[]string{"--help"}, 0},
		"help of a command":  {[]string{"serve", "--help"}, 0},
		"version":            {[]string{"version"}, 0},
		"unknown command":    {[]string{"sereve"}, 2},
		"unknown flag":       {[]string{"version", "--loud"}, 2},
		"unexpected word":    {[]string{"version", "now"}, 2},
		"group alone":        {[]string{"apps"}, 2},
		"flag without value": {[]string{"serve", "--addr"}, 2},
		"folder is a file":   {[]string{"migrate", "--data", file}, 1},
		"replica of SQLite":  {[]string{"serve", "--data", t.TempDir(), "--replica-url", "postgres://host/name"}, 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := run(t, test.args...)
			if code != test.code {
				t.Errorf("exit code %d, want %d\n%s%s", code, test.code, stdout, stderr)
			}
			// Programs read stdout, people are spoken to on stderr.
			if code == 0 && (stdout == "" || stderr != "") || code != 0 && (stdout != "" || !strings.HasPrefix(stderr, "galley: ")) {
				t.Errorf("stdout %q, stderr %q", stdout, stderr)
			}
		})
	}
}

type fullWriter struct{}

func (fullWriter) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

// What can be had only once, or is read by a program, must not get lost in
// silence.
func TestOutputThatIsLostIsAFailure(t *testing.T) {
	for _, args := range [][]string{{"keygen"}, {"openapi"}, {"version"}, {"apps", "create", "--data", t.TempDir(), "--name", "A"}} {
		var errOut bytes.Buffer
		if code := cli.Run(t.Context(), args, fullWriter{}, &errOut); code != 1 || !strings.Contains(errOut.String(), "no space") {
			t.Errorf("%s: exit code %d, %q", args, code, errOut.String())
		}
	}
}

func TestSettingsThatDoHarmAreRefused(t *testing.T) {
	for _, setting := range []string{
		"--history-retention=-1h", "--audit-retention=-1h", "--site-retention=-1h", "--drain-delay=-1s", "--cache-size=-1",
		"--guard-share=50", "--guard-share=-0.1", "--guard-share=NaN", "--guard-pages=-1", "--addr=", "--data=",
	} {
		data := filepath.Join(t.TempDir(), "data")
		for _, command := range []string{"serve", "doctor"} {
			code, stdout, stderr := run(t, command, "--data", data, setting)
			if name, _, _ := strings.Cut(setting, "="); code != 1 || !strings.Contains(stdout+stderr, name) {
				t.Errorf("%s %s: exit code %d\n%s%s", command, setting, code, stdout, stderr)
			}
		}
		if _, err := os.Stat(data); err == nil {
			t.Errorf("%s: a store was made", setting)
		}
	}
}

// A file that starts programs may give a name without a value.
func TestEmptyVariablesAreNotSet(t *testing.T) {
	data := t.TempDir()
	file := filepath.Join(t.TempDir(), "galley.yaml")
	if err := os.WriteFile(file, []byte("data: "+data+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"GALLEY_DATA", "GALLEY_DATABASE_URL"} {
		t.Setenv(name, "")
	}
	if code, stdout, stderr := run(t, "migrate", "--config", file); code != 0 {
		t.Fatalf("exit code %d\n%s%s", code, stdout, stderr)
	}
	if _, err := os.Stat(filepath.Join(data, "galley.db")); err != nil {
		t.Error(err)
	}
}

// Who has a bad file needs help most.
func TestBadFileIsNoMatterToWhatNeedsNone(t *testing.T) {
	unknown := filepath.Join(t.TempDir(), "unknown.yaml")
	if err := os.WriteFile(unknown, []byte("adr: x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"no-such.yaml", unknown} {
		t.Setenv("GALLEY_CONFIG", file)
		for _, args := range [][]string{nil, {"--help"}, {"serve", "--help"}, {"version"}, {"keygen"}, {"openapi"}, {"completion", "bash"}} {
			if code, stdout, stderr := run(t, args...); code != 0 || stdout == "" || stderr != "" {
				t.Errorf("%s with %s: exit code %d\n%s", args, file, code, stderr)
			}
		}
		for _, args := range [][]string{{"serve"}, {"apps", "list"}, {"copy"}, {"healthcheck"}} {
			if code, _, stderr := run(t, args...); code != 1 || !strings.Contains(stderr, file) {
				t.Errorf("%s with %s: exit code %d\n%s", args, file, code, stderr)
			}
		}
	}
}

// What a client's flags are called means nothing in the file of a server.
func TestFlagsOfTheClientAreNoSettings(t *testing.T) {
	file := filepath.Join(t.TempDir(), "galley.yaml")
	if err := os.WriteFile(file, []byte("yes: true\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := run(t, "migrate", "--config", file, "--data", t.TempDir()); code != 1 || !strings.Contains(stderr, "unknown settings: yes") {
		t.Errorf("exit code %d, %s", code, stderr)
	}
	if err := os.WriteFile(file, []byte("name: From the file\n"), 0o600); err != nil { // a flag of apps create, too
		t.Fatal(err)
	}
	t.Setenv("GALLEY_URL", "http://127.0.0.1:1")
	t.Setenv("GALLEY_KEY", "key")
	if code, _, stderr := run(t, "--config", file, "sites", "duplicate", "Shop"); code != 2 || !strings.Contains(stderr, "--name") {
		t.Errorf("exit code %d, %s", code, stderr)
	}
}

// A shell's variable may be empty, and the folder that one is in is no store.
func TestStoreWithoutANameIsRefused(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("GALLEY_DATABASE_URL", "postgres://u@127.0.0.1:1/x")
	for _, args := range [][]string{
		{"migrate", "--data", ""}, {"apps", "create", "--name", "A", "--data="}, {"apps", "list", "--data="}, {"backup", "--data=", "file"},
		{"copy", "--from=", "--to=x"},
	} {
		if code, _, stderr := run(t, args...); code != 1 || !strings.Contains(stderr, "name") {
			t.Errorf("%s: exit code %d, %s", args, code, stderr)
		}
	}
	if left, err := filepath.Glob("*"); err != nil || len(left) > 0 {
		t.Errorf("left %s (%v)", left, err)
	}
}

func TestLookingForAppsMakesNoStore(t *testing.T) {
	data, id := filepath.Join(t.TempDir(), "data"), "01980a5c-7d3e-7f00-8a3b-5f0d4c1e2a6b"
	for _, args := range [][]string{{"list"}, {"rate", id, "off"}, {"revoke", id}} {
		code, _, stderr := run(t, append(append([]string{"apps"}, args...), "--data", data)...)
		if _, err := os.Stat(data); code != 1 || !strings.Contains(stderr, "no store") || err == nil {
			t.Errorf("%s: exit code %d, %q, %v", args, code, stderr, err)
		}
	}
}

func TestKeygenPrintsADifferentKeyEachTime(t *testing.T) {
	_, first, _ := run(t, "keygen")
	_, second, _ := run(t, "keygen")
	if first == second || !strings.HasPrefix(first, "sk_") || strings.Count(first, "\n") != 1 {
		t.Errorf("got %q and %q", first, second)
	}
}

func TestHealthcheckAsksForReadiness(t *testing.T) {
	for status, want := range map[int]int{200: 0, 503: 1, 404: 1, 500: 1} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/readyz" {
				t.Errorf("asked for %s", r.URL.Path)
			}
			w.WriteHeader(status)
		}))
		code, _, stderr := run(t, "healthcheck", "--addr", strings.TrimPrefix(server.URL, "http://"))
		server.Close()
		if code != want {
			t.Errorf("status %d: exit code %d, want %d\n%s", status, code, want, stderr)
		}
	}
}

func TestHealthcheckGivesUpWithItsContext(t *testing.T) {
	hang := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hang }))
	defer server.Close()
	defer close(hang)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, errOut bytes.Buffer
	if code := cli.Run(ctx, []string{"healthcheck", "--addr", strings.TrimPrefix(server.URL, "http://")}, &out, &errOut); code != 1 {
		t.Errorf("exit code %d", code)
	}
}

func TestMigrateTwice(t *testing.T) {
	data := filepath.Join(t.TempDir(), "made", "on", "the", "way")
	for _, says := range []string{"Applied schema version", "up to date"} {
		code, stdout, stderr := run(t, "migrate", "--data", data)
		if code != 0 || !strings.Contains(stdout, says) {
			t.Errorf("exit code %d, %q is not in %q\n%s", code, says, stdout, stderr)
		}
	}
	// What is kept is nobody else's business.
	info, err := os.Stat(filepath.Join(data, "galley.db"))
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		t.Errorf("the database has mode %v", info.Mode())
	}
}
