package main_test

import (
	"strings"
	"testing"
)

func TestWorkspacesLimitHoldsInARunningServer(t *testing.T) {
	t.Parallel()
	onBothEngines(t, func(t *testing.T, store ...string) {
		server := serve(t, nil, store...)
		key := server.key(t)
		run := func(args ...string) string {
			t.Helper()
			lines := strings.Split(strings.TrimSpace(mustRun(t, nil, append(append([]string{"workspaces"}, args...), store...)...)), "\n")
			return strings.Join(strings.Fields(lines[len(lines)-1])[1:], " ")
		}
		check := func(want, got string) {
			t.Helper()
			if want += " Default workspace"; got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		}
		post := func() bool { return server.send(t, key, "POST", "/v2/sites", `{"name":"Shop"}`).status == 403 }
		id := server.send(t, key, "GET", "/v2/workspace", "").field(t, "id")

		check("no limit no limit no limit", run("list"))
		server.must(t, 201, key, "POST", "/v2/sites", `{"name":"Shop"}`)
		check("1 of 1 no limit 0 of 0", run("limit", id, "--sites", "1", "--content-bytes", "0"))
		eventually(t, "the server has heard of it", post)
		answer := server.must(t, 403, key, "POST", "/v2/sites", `{"name":"Shop"}`)
		if want := "This exceeds the workspace's quota of sites, which is 1"; answer.field(t, "message") != want {
			t.Errorf("got %s, want %s", answer.body, want)
		}
		run("limit", id, "--pages=2", "--sites=none")
		eventually(t, "the server has heard of it", func() bool { return !post() })
		if got := run("list"); !strings.Contains(got, "no limit 0 of 2 0 of 0") {
			t.Errorf("got %s", got)
		}
		run("limit", id, "--pages=none", "--content-bytes=none")
		check("no limit no limit no limit", run("list"))
	})
}

func TestBadWorkspacesCommandsAreRefused(t *testing.T) {
	t.Parallel()
	const unknown = "01980a5c-7d3e-7f00-8a3b-5f0d4c1e2a6b"
	data := t.TempDir()
	mustRun(t, nil, "migrate", "--data", data)
	for _, test := range []struct {
		code int
		args []string
		says string
	}{
		{2, []string{"limit"}, "<id>"},
		{1, []string{"limit", "mine", "--sites", "1"}, "mine"},
		{1, []string{"limit", unknown}, "--content-bytes"},
		{1, []string{"limit", unknown, "--sites", "1"}, "Workspace not found"},
		{2, []string{"limit", unknown, "--sites", ""}, "none"},
		{2, []string{"limit", unknown, "--pages=-1"}, "none"},
		{2, []string{"limit", unknown, "--content-bytes", "1e9"}, "none"},
		{2, []string{"limit", unknown, "--pages", "99999999999999999999"}, "none"},
	} {
		stderr := refused(t, test.code, nil, append(append([]string{"workspaces"}, test.args...), "--data", data)...)
		if !strings.Contains(stderr, test.says) {
			t.Errorf("%s: the message does not say %q: %s", test.args, test.says, stderr)
		}
	}
}
