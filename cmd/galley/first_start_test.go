package main_test

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var printedCurl = regexp.MustCompile(`(?m)^\s*(curl .*)$`)

func TestFirstStartPrintsACurlLineThatWorks(t *testing.T) {
	t.Parallel()
	onBothEngines(t, func(t *testing.T, store ...string) {
		server := serve(t, nil, store...)
		line := found(t, printedCurl, server.stdout.String())

		out, err := exec.Command("sh", "-c", line+` -sS -w '\n%{http_code}'`).Output()
		if err != nil {
			t.Fatalf("%s: %v\n%s", line, err, out)
		}
		if !strings.HasSuffix(string(out), "\n201") {
			t.Errorf("%s\nanswers %s, want 201", line, out)
		}
		r := server.must(t, 200, server.key(t), "GET", "/v2/workspace", "")
		if want := found(t, printedWorkspace, server.stdout.String()); r.field(t, "id") != want {
			t.Errorf("the key's workspace is %s, printed was %s", r.field(t, "id"), want)
		}
	})
}

// The line is pasted as it is: whatever the tests add to it must not be what
// makes it work.
func TestCurlLineOfFirstStartNeedsNothingAdded(t *testing.T) {
	t.Parallel()
	server := serve(t, nil)
	key := server.key(t)
	line := found(t, printedCurl, server.stdout.String())

	out, err := exec.Command("sh", "-c", line).Output()
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	id := reply{body: string(out)}.field(t, "id")
	server.must(t, 200, key, "GET", "/v2/sites/"+id, "")
}

func TestKeyIsPrintedOnce(t *testing.T) {
	t.Parallel()
	onBothEngines(t, func(t *testing.T, store ...string) {
		first := serve(t, nil, store...)
		key := first.key(t)
		if code := first.stop(t); code != 0 {
			t.Fatalf("exit code %d", code)
		}
		if n := strings.Count(first.stdout.String()+first.stderr.String(), key); n != 2 {
			t.Errorf("the key is printed %d times, want 2: by itself and in the curl line", n)
		}

		second := serve(t, nil, store...)
		second.must(t, 200, key, "GET", "/v2/workspace", "")
		second.stop(t)
		if text := second.stdout.String() + second.stderr.String(); strings.Contains(text, "sk_") || strings.Contains(text, "First start") {
			t.Errorf("the second start prints\n%s", text)
		}
	})
}

var logsAddress = regexp.MustCompile(`"msg":"listening","address":"([^"]+)"`)

// A key that nobody was shown is lost, and the operator has to know at once.
func TestFirstKeyThatIsNotShownIsTold(t *testing.T) {
	t.Parallel()
	for name, to := range map[string]string{"full": "> /dev/full", "closed": ">&-", "nowhere": "> /dev/null"} {
		t.Run(name, func(t *testing.T) {
			server := prepare(t, nil, "sh", "-c", `exec "$0" serve --addr 127.0.0.1:0 `+to, binary)
			server.start(t)
			server.waitUntilItListens(t, logsAddress, &server.stderr)
			eventually(t, "the log tells", func() bool { return strings.Contains(server.stderr.String(), "galley apps create") })
			lines := 0
			for _, line := range server.logLines(t) {
				if line["level"] == "ERROR" {
					lines++
				}
			}
			if log := server.stderr.String(); lines != 1 || strings.Contains(log, "sk_") {
				t.Errorf("%d errors in the log, want one without the key:\n%s", lines, log)
			}
			server.ready(t)
			if code := server.stop(t); code != 0 {
				t.Errorf("exit code %d\n%s", code, &server.stderr)
			}

			// Later starts, and those whose key is known, have nothing to lose.
			for _, env := range [][]string{nil, {"GALLEY_DATA=other", "GALLEY_BOOTSTRAP_KEY=" + strings.TrimSpace(mustRun(t, nil, "keygen"))}} {
				again := prepare(t, env, "sh", "-c", `exec "$0" serve --addr 127.0.0.1:0 `+to, binary)
				again.cmd.Dir = server.cmd.Dir
				again.start(t)
				again.waitUntilItListens(t, logsAddress, &again.stderr)
				if code := again.stop(t); code != 0 || strings.Contains(again.stderr.String(), "ERROR") {
					t.Errorf("%s: exit code %d\n%s", env, code, &again.stderr)
				}
			}
		})
	}
}

const fixedWorkspace = "0198f0aa-0000-7000-8000-00000000cafe"

func TestBootstrapSettingsFixKeyAndWorkspace(t *testing.T) {
	t.Parallel()
	onBothEngines(t, func(t *testing.T, store ...string) {
		key := strings.TrimSpace(mustRun(t, nil, "keygen"))
		server := serve(t, []string{"GALLEY_BOOTSTRAP_KEY=" + key, "GALLEY_BOOTSTRAP_WORKSPACE_ID=" + fixedWorkspace}, store...)

		if id := server.must(t, 200, key, "GET", "/v2/workspace", "").field(t, "id"); id != fixedWorkspace {
			t.Errorf("workspace %s, want %s", id, fixedWorkspace)
		}
		if strings.Contains(server.stdout.String()+server.stderr.String(), key) {
			t.Error("a key that the operator has already is printed")
		}
	})
}

// Automation starts the program with the same settings each time.
func TestBootstrapSettingsChangeNothingLater(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	first := serve(t, nil, "--data", data)
	key, other := first.key(t), strings.TrimSpace(mustRun(t, nil, "keygen"))
	first.stop(t)

	second := serve(t, []string{"GALLEY_BOOTSTRAP_KEY=" + other, "GALLEY_BOOTSTRAP_WORKSPACE_ID=" + fixedWorkspace}, "--data", data)
	second.must(t, 200, key, "GET", "/v2/workspace", "")
	second.must(t, 401, other, "GET", "/v2/workspace", "")
	second.stop(t)
	if log := second.stderr.String(); strings.Count(log, "WARN") != 1 || !strings.Contains(log, "GALLEY_BOOTSTRAP_KEY") || strings.Contains(log, other) {
		t.Errorf("the log does not say that the key is none:\n%s", log)
	}

	third := serve(t, []string{"GALLEY_BOOTSTRAP_KEY=" + key}, "--data", data)
	third.stop(t)
	if log := third.stderr.String(); strings.Contains(log, "WARN") {
		t.Errorf("the log warns of a key that works:\n%s", log)
	}
}

func TestBadBootstrapSettingsAreRefused(t *testing.T) {
	t.Parallel()
	key := strings.TrimSpace(mustRun(t, nil, "keygen"))
	tests := map[string]struct{ setting, says string }{
		"checksum":         {"GALLEY_BOOTSTRAP_KEY=" + swapLast(key), "checksum"},
		"cut short":        {"GALLEY_BOOTSTRAP_KEY=" + key[:len(key)-1], "GALLEY_BOOTSTRAP_KEY"},
		"no key at all":    {"GALLEY_BOOTSTRAP_KEY=secret", "GALLEY_BOOTSTRAP_KEY"},
		"workspace no id":  {"GALLEY_BOOTSTRAP_WORKSPACE_ID=mine", "GALLEY_BOOTSTRAP_WORKSPACE_ID"},
		"workspace nil id": {"GALLEY_BOOTSTRAP_WORKSPACE_ID=00000000-0000-0000-0000-000000000000", "GALLEY_BOOTSTRAP_WORKSPACE_ID"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			stderr := refused(t, 1, []string{test.setting}, "serve", "--addr", "127.0.0.1:0")
			if !strings.Contains(stderr, test.says) {
				t.Errorf("the message does not say %s: %s", test.says, stderr)
			}
			if _, value, _ := strings.Cut(test.setting, "KEY="); value != "" && strings.Contains(stderr, value) {
				t.Errorf("the message repeats the key: %s", stderr)
			}
		})
	}
}

// swapLast changes the last character of a key, which is in its checksum.
func swapLast(key string) string {
	last := "0"
	if strings.HasSuffix(key, last) {
		last = "1"
	}
	return key[:len(key)-1] + last
}

// The data is where the server was started, which is easy to forget.
func TestFirstStartNamesItsDataFolder(t *testing.T) {
	t.Parallel()
	for _, env := range [][]string{nil, {"GALLEY_BOOTSTRAP_KEY=" + strings.TrimSpace(mustRun(t, nil, "keygen"))}} {
		server := serve(t, env)
		server.stop(t)
		if folder := filepath.Join(server.cmd.Dir, "galley-data"); !strings.Contains(server.stdout.String(), folder) {
			t.Errorf("the first start prints\n%s", &server.stdout)
		}
	}
}
