package main_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	redisclient "github.com/redis/go-redis/v9"

	"galley/internal/pgtest"
)

// diagnosis is what doctor --json prints.
type diagnosis struct {
	OK     bool
	Checks []struct{ Check, Status, Found, Todo string }
}

func (d diagnosis) status(check string) string {
	for _, c := range d.Checks {
		if c.Check == check {
			return c.Status
		}
	}
	return "not checked"
}

// diagnose runs the doctor and checks that its words and its exit code agree.
func diagnose(t *testing.T, env []string, args ...string) diagnosis {
	t.Helper()
	code, stdout, stderr := run(t, env, append([]string{"doctor", "--json"}, args...)...)
	var d diagnosis
	if err := json.Unmarshal([]byte(stdout), &d); err != nil {
		t.Fatalf("not one JSON object: %v\n%s%s", err, stdout, stderr)
	}
	failed := false
	for _, c := range d.Checks {
		failed = failed || c.Status == "fail"
		if (c.Todo == "") != (c.Status == "ok") || c.Found == "" {
			t.Errorf("%v does not say what to do", c)
		}
	}
	if d.OK == failed || (code == 1) != failed || (stderr != "") != failed {
		t.Errorf("exit code %d, %s\n%s", code, stdout, stderr)
	}
	return d
}

// finds wants the doctor to find checks in a state, if not at once: on a busy
// machine, what is well may take longer than it waits.
func finds(t *testing.T, want map[string]string, env []string, args ...string) {
	t.Helper()
	var d diagnosis
	for range 5 {
		d = diagnose(t, env, args...)
		if d.is(want) {
			return
		}
	}
	t.Errorf("want %v, got %v", want, d)
}

func (d diagnosis) is(want map[string]string) bool {
	for check, status := range want {
		if d.status(check) != status {
			return false
		}
	}
	return true
}

func TestDoctorOnAHealthyStore(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	serve(t, nil, "--data", data)
	finds(t, map[string]string{
		"settings": "ok", "variables": "ok", "disk": "ok", "store": "ok", "schema": "ok", "tables": "ok", "indexes": "ok", "journal": "ok",
		"deep check": "ok", "redis": "not checked",
	}, nil, "--data", data, "--deep")
	table := mustRun(t, nil, "doctor", "--data", data)
	for _, line := range []string{"ok    settings     ", "ok    quick check  ", "ok    schema       version "} {
		if !strings.Contains(table, line) {
			t.Errorf("no line %q in\n%s", line, table)
		}
	}
}

// The server of the tests does not sync, which is as bad as it gets.
func TestDoctorOnPostgres(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	mustRun(t, nil, "migrate", "--database-url", url)
	finds(t, map[string]string{
		"store": "ok", "schema": "ok", "tables": "ok", "indexes": "ok", "version": "ok", "durability": "fail", "connections": "ok", "text": "ok", "clock": "ok",
		"disk": "not checked", "journal": "not checked",
	}, nil, "--database-url", url)
	for listen, want := range map[string]string{url: "ok", "postgres://u:hunter2@127.0.0.1:1/x": "fail", "host=:": "fail"} {
		finds(t, map[string]string{"listener": want}, nil, "--database-url", url, "--listen-url", listen)
	}
	eventually(t, "one check fails", func() bool {
		code, table, stderr := run(t, nil, "doctor", "--database-url", url)
		for _, words := range []string{"fail  durability   fsync or full_page_writes is off", "→ set both to on"} {
			if !strings.Contains(table, words) {
				t.Errorf("no %q in\n%s", words, table)
			}
		}
		return code == 1 && strings.Contains(stderr, "1 of 11 checks failed")
	})
}

func TestDoctorSeesADamagedFile(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	createApp(t, "--data", data, "--name", "A")
	sqlite(t, data, `pragma wal_checkpoint(truncate)`)
	file, err := os.OpenFile(filepath.Join(data, "galley.db"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	for page := int64(8); page < 14; page++ {
		if _, err := file.WriteAt(bytes.Repeat([]byte{0xa5}, 4096), page*4096); err != nil {
			t.Fatal(err)
		}
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	finds(t, map[string]string{"store": "ok", "quick check": "fail"}, nil, "--data", data)
}

func TestDoctorChangesNothing(t *testing.T) {
	t.Parallel()
	nowhere := unused(t)
	finds(t, map[string]string{"store": "fail", "disk": "ok"}, nil, "--data", nowhere)
	if _, err := os.Stat(nowhere); !os.IsNotExist(err) {
		t.Errorf("the data folder was made (%v)", err)
	}
	url := pgtest.URL(t)
	for range 2 {
		finds(t, map[string]string{"store": "ok", "schema": "warn"}, nil, "--database-url", url)
	}
}

func TestDoctorSeesBadSettings(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	mustRun(t, nil, "migrate", "--data", data)
	redis := newRedis(t, "well")
	gone := newRedis(t, "gone")
	gone.kill()
	follower := newRedis(t, "well") // it answers, and takes no writes
	client := redisclient.NewClient(&redisclient.Options{Addr: follower.address(), Password: "well"})
	if err := errors.Join(client.Do(t.Context(), "replicaof", "127.0.0.1", "1").Err(), client.Close()); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		env, args []string
		want      map[string]string
	}{
		"certificate without key": {nil, []string{"--tls-cert", "cert.pem"}, map[string]string{"settings": "fail", "store": "ok"}},
		"no such certificate":     {nil, []string{"--tls-cert", "cert.pem", "--tls-key", "key.pem"}, map[string]string{"settings": "fail"}},
		"bad bootstrap key":       {[]string{"GALLEY_BOOTSTRAP_KEY=sk_x"}, nil, map[string]string{"settings": "fail"}},
		"misspelt variable":       {[]string{"GALLEY_ADRR=x"}, nil, map[string]string{"settings": "ok", "variables": "fail"}},
		"Redis":                   {nil, []string{"--redis-url", redis.url()}, map[string]string{"redis": "ok"}},
		"Redis can't count":       {nil, []string{"--redis-url", follower.url()}, map[string]string{"redis": "fail", "store": "ok"}},
		"Redis is away":           {nil, []string{"--redis-url", gone.url()}, map[string]string{"redis": "fail", "store": "ok"}},
		"wrong password":          {nil, []string{"--redis-url", strings.Replace(redis.url(), "well", "hunter2", 1)}, map[string]string{"redis": "fail"}},
		"no Redis URL":            {nil, []string{"--redis-url", "http://u:hunter2@x"}, map[string]string{"redis": "fail"}},
		"no database":             {nil, []string{"--database-url", "postgres://u:hunter2@127.0.0.1:1/x"}, map[string]string{"store": "fail"}},
	} {
		t.Run(name, func(t *testing.T) {
			args := append([]string{"--data", data}, c.args...)
			finds(t, c.want, c.env, args...)
			if _, stdout, stderr := run(t, c.env, append([]string{"doctor"}, args...)...); strings.Contains(stdout+stderr, "hunter2") || strings.Count(stderr, "\n") > 1 {
				t.Errorf("said\n%s%s", stdout, stderr)
			}
		})
	}
}
