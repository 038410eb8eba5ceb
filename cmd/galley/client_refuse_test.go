package main_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestBadUsesOfTheClientSayWhatToDo holds what commands print when something is wrong.
func TestBadUsesOfTheClientSayWhatToDo(t *testing.T) {
	t.Parallel()
	server := serve(t, nil)
	s := signedIn(t, server)
	for _, args := range []string{
		"sites create --name Shop --host-origin https://shop.example.com --labels eu", "sites create --name Blog --labels eu",
		"pages create --site Shop --pathname /about", "keys create --name Reader --scopes read",
	} {
		if code, stdout, stderr := s.piped(t, "", s.words(args)...); code != 0 {
			t.Fatalf("galley %s: %d\n%s%s", args, code, stdout, stderr)
		}
	}
	reader := server.must(t, 201, s.vars["KEY"], "POST", "/v2/apps", `{"name":"Reader","scopes":["read"]}`).field(t, "key")
	other := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(other.Close)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>hello</html>")) }))
	t.Cleanup(web.Close)
	busy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "0")
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = w.Write([]byte(`{"object":"error","code":"too_many_requests","message":"Too many requests"}`))
	}))
	t.Cleanup(busy.Close)
	s.file(t, "bad.json", "{")
	s.file(t, "empty.csv", "")
	s.file(t, "unknown.csv", "pathnam,title\n/a,A\n")
	s.file(t, "quote.csv", "pathname,title\n/a,\"A\n")
	s.file(t, "space", "sk_a b\n")
	const id = "01980a5c-7d3e-7f00-8a3b-5f0d4c1e2a6b"

	for _, test := range []struct {
		line string
		code int
		says string
		env  []string
	}{
		// Who and where.
		{"sites list", 1, "you are not signed in: run 'galley login URL', or set GALLEY_URL and GALLEY_KEY", []string{"GALLEY_URL=", "GALLEY_KEY="}},
		{"sites list", 1, "GALLEY_URL is set to https://cms.example.com, and there is no key for it", []string{"GALLEY_URL=https://cms.example.com", "GALLEY_KEY="}},
		{"sites list", 1, "The API key is missing or invalid. Sign in with another key: 'galley login URL'", []string{"GALLEY_KEY=nonsense"}},
		{"sites list", 2, `"cms.example.com" is not the URL of a server: write it like https://cms.example.com`, []string{"GALLEY_URL=cms.example.com"}},
		{"sites list", 1, "can't reach http://127.0.0.1:1: dial tcp 127.0.0.1:1: connect: connection refused. Check that the server runs", []string{"GALLEY_URL=http://127.0.0.1:1"}},
		{"sites list", 1, "404 Not Found. There is no Galley server at this URL", []string{"GALLEY_URL=" + other.URL}},
		{"sites list", 1, "is no Galley server: its answer is not understood", []string{"GALLEY_URL=" + web.URL}},
		{"sites list", 1, "Too many requests. Try again in 1s", []string{"GALLEY_URL=" + busy.URL}},
		{"sites create --name New", 1, "The App key lacks the scope write. Use a key that has it", []string{"GALLEY_KEY=" + reader}},
		{"sites list --profile work", 2, `there is no profile "work"`, []string{"GALLEY_URL=", "GALLEY_KEY="}},
		{"login cms.example.com", 2, "is not the URL of a server", nil},
		{"login http://127.0.0.1:1 --key-file none", 1, "can't read the key: open none: no such file", nil},
		{"login $URL", 2, "that is no key", nil},
		{"login $URL --key-file space", 2, "that is no key", nil},
		{"logout --profile work", 2, "there is no profile to forget", nil},
		{"profiles use work", 2, `there is no profile "work"`, nil},

		// Which site.
		{"sites get Shpo", 2, `there is no site "Shpo". Did you mean "Shop"? 'galley sites list' lists them`, nil},
		{"sites get https://shop.example.org", 2, `Did you mean "https://shop.example.com"?`, nil},
		{"sites get Bakery", 2, `there is no site "Bakery". 'galley sites list' lists them`, nil},
		{"sites get eu", 2, "may be any of these sites; name it by its id:", nil},
		{"pages list", 2, "there are several sites; name one with --site:", nil},
		{"sites get " + id, 1, "Site not found", nil},
		{"sites restore Shop", 2, `there is no deleted site "Shop"`, nil},

		// What.
		{"pages get /nowhere --site Shop", 1, "Page not found", nil},
		{"pages create --site Shop", 1, "pathname must not be empty", nil},
		{"pages create --site Shop --pathname /about", 1, "A page or route with this pathname already exists", nil},
		{"pages create --site Shop --pathname /x --sitemap-priority 7", 1, "sitemapPriority must be between 0 and 1", nil},
		{"pages create --site Shop --pathname /x --is-online maybe", 2, `"maybe" is neither true nor false`, nil},
		{"pages update /about --site Shop", 2, "nothing to change: give the new values as flags, or --clear FIELDS", nil},
		{"pages update /about --site Shop --clear titel", 2, `--clear: there is no field "titel"`, nil},
		{"pages update /about --site Shop --titel x", 2, "unknown flag --titel, did you mean", nil},
		{"pages delete /about --site Shop", 2, "Delete the page /about? This is not a terminal: confirm with --yes", nil},
		{"pages content set /about none.json --site Shop", 2, "can't read the file: open none.json: no such file", nil},
		{"pages content set /about bad.json --site Shop", 2, "bad.json is not JSON: unexpected end of JSON input", nil},
		{"pages import empty.csv --site Shop", 2, "the file has no line with the names of the columns", nil},
		{"pages import unknown.csv --site Shop", 2, `there is no column "pathnam". Did you mean "pathname"?`, nil},
		{"pages import quote.csv --site Shop", 1, `quote.csv:2: extraneous or missing " in quoted-field`, nil},
		{"sites create --name X --default-locale-path-prefix x", 2, "this can only be changed later, with update", nil},
		{"sites list --output xml", 2, "--output must be one of", nil},
		{"sites list --limit 1000", 1, "limit must be", nil},
		{"sites", 2, "expected one of", nil},
		{"site list", 2, `did you mean "sites"`, nil},
		{"publish Shop", 2, "Publish this to Shop? This is not a terminal: confirm with --yes", nil},
		{"publish Shop --plan 0000", 3, "The draft has changed since the plan was made", nil},
		{"publish Shop --plan " + strings.Repeat("0", 64), 3, "The draft has changed since the plan was made, review the changes again: 'galley changes'", nil},
		{"publish Shop --at yesterday --yes", 2, `"yesterday" is not a time: write it like 2030-01-31T12:00:00Z or 2030-01-31 12:00`, nil},
		{"publish Shop --at 2020-01-01 --yes", 1, "publishAt", nil},
		{"publish Shop --page /nowhere", 1, "Page not found", nil},
		{"events --follow --all", 2, "--all and --follow can't be used together", nil},
		{"resolve not-a-url", 1, "url", nil},
		{"keys create --name X --sites Shpo", 2, `Did you mean "Shop"?`, nil},
		{"completion powershell", 2, "<shell> must be one of", nil},
	} {
		one := *s
		one.env = append(append([]string{}, s.env...), test.env...)
		code, stdout, stderr := one.piped(t, "", one.words(test.line)...)
		if code != test.code || !strings.Contains(stderr, test.says) || !strings.Contains(stderr, "galley: ") || stackTrace.MatchString(stderr) {
			t.Errorf("galley %s: exit code %d, want %d and %q\n%s%s", test.line, code, test.code, test.says, stdout, stderr)
		}
		if strings.Contains(stdout+stderr, s.vars["KEY"]) {
			t.Errorf("galley %s shows the key: %s%s", test.line, stdout, stderr)
		}
	}
}

// TestClientJSONIsTheInterfacesOwn compares the output of commands with the bytes that the
// server sends.
func TestClientJSONIsTheInterfacesOwn(t *testing.T) {
	t.Parallel()
	server := serve(t, nil)
	s := signedIn(t, server)
	for _, step := range []step{
		{line: "sites create --name \"Shop <&> ☕\" --output json", save: map[string]string{"SITE": "id"}},
		{line: "pages create --pathname /about --title <b>Über</b> --output json", save: map[string]string{"PAGE": "id"}},
		{line: "pages create --pathname /b --output json"},
		{line: "keys create --name Reader --output json", save: map[string]string{"APP": "id"}},
		{line: "redirects create --source /old --target /about --output json", save: map[string]string{"REDIRECT": "id"}},
		{line: "publish $SITE --yes --output json", save: map[string]string{"PUBLISH": "id"}},
		{line: "pages update /about --title New --output json"},
	} {
		if shown := s.run(t, step); strings.Contains(shown, "exit code") {
			t.Fatalf("galley %s: %s", step.line, shown)
		}
	}
	for line, path := range map[string]string{
		"sites list":                 "/v2/sites",
		"sites list --limit 1":       "/v2/sites?limit=1",
		"sites get $SITE":            "/v2/sites/$SITE",
		"sites summary $SITE":        "/v2/sites/$SITE/summary",
		"changes $SITE":              "/v2/sites/$SITE/changes",
		"locales list":               "/v2/locales?siteId=$SITE",
		"locales get en-US":          "/v2/locales/en-US?siteId=$SITE",
		"pages list":                 "/v6/pages?siteId=$SITE",
		"pages get /about":           "/v6/pages/about?siteId=$SITE",
		"pages tree":                 "/v6/pages/tree?siteId=$SITE",
		"pages publishes /about":     "/v6/pages/$PAGE/publishes",
		"routes list":                "/v2/routes?siteId=$SITE",
		"redirects list":             "/v2/redirects?siteId=$SITE",
		"redirects get $REDIRECT":    "/v2/redirects/$REDIRECT",
		"publishes list":             "/v2/sites/$SITE/publishes",
		"publishes get $PUBLISH":     "/v2/publishes/$PUBLISH",
		"publishes changes $PUBLISH": "/v2/publishes/$PUBLISH/changes",
		"publishes urls $PUBLISH":    "/v2/publishes/$PUBLISH/urls",
		"previews list":              "/v2/previews?siteId=$SITE",
		"keys get $APP":              "/v2/apps/$APP",
		"webhooks list":              "/v2/webhooks",
		"events":                     "/v2/events",
		"audit":                      "/v2/audit",
		"resolve /about -s $SITE":    "/v2/resolve?url=/about&siteId=$SITE",
	} {
		code, stdout, stderr := s.piped(t, "", append(s.words(line), "--output", "json")...)
		want := server.must(t, 200, s.vars["KEY"], "GET", os.Expand(path, func(name string) string { return s.vars[name] }), "")
		if code != 0 || stdout != want.body {
			t.Errorf("galley %s: exit code %d\n%s%s\nthe interface has\n%s", line, code, stdout, stderr, want.body)
		}
	}
	// All pages of a list are one list.
	_, all, _ := s.piped(t, "", "pages", "list", "--limit", "1", "--all", "--output", "json")
	if whole := server.must(t, 200, s.vars["KEY"], "GET", "/v6/pages?siteId="+s.vars["SITE"], ""); all != whole.body {
		t.Errorf("--all prints\n%s\nthe interface has\n%s", all, whole.body)
	}
}

func TestProfilesAreForTheirOwnerAlone(t *testing.T) {
	t.Parallel()
	server := serve(t, nil)
	s := newShell(t, server)
	code, stdout, stderr := s.piped(t, s.vars["KEY"]+"\n", "login", server.url, "--profile", "work")
	if code != 0 {
		t.Fatalf("exit code %d\n%s%s", code, stdout, stderr)
	}
	if strings.Contains(stdout+stderr, s.vars["KEY"]) {
		t.Errorf("the key is shown: %s%s", stdout, stderr)
	}
	for name, want := range map[string]os.FileMode{"config/galley": 0o700, "config/galley/profiles.yaml": 0o600} {
		info, err := os.Stat(filepath.Join(s.home, name))
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s has mode %o, want %o", name, got, want)
		}
	}
	// Variables win over the profile, and the key of a profile goes to no other server.
	asked := make(chan string, 1)
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked <- r.Header.Get("X-Api-Key") }))
	t.Cleanup(other.Close)
	s.env = append(s.env, "GALLEY_URL="+other.URL)
	if code, _, stderr := s.piped(t, "", "sites", "list"); code != 1 || !strings.Contains(stderr, "GALLEY_KEY") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	select {
	case key := <-asked:
		t.Errorf("the other server was asked with the key %q", key)
	default:
	}
	s.env = append(s.env, "GALLEY_KEY=another")
	_, _, _ = s.piped(t, "", "sites", "list")
	if key := <-asked; key != "another" {
		t.Errorf("asked with the key %q", key)
	}
}

// Who is a client may also start a server.
func TestVariablesOfTheClientAreNoMatterToAServer(t *testing.T) {
	t.Parallel()
	serve(t, []string{"GALLEY_URL=https://cms.example.com", "GALLEY_KEY=key", "GALLEY_PROFILE=work"}).ready(t)
}

// The key of a site and the token of a preview need no name of a site.
func TestClientWithTheKeyOfASite(t *testing.T) {
	t.Parallel()
	server := serve(t, nil)
	s := signedIn(t, server)
	_, siteKey := server.newSite(t, s.vars["KEY"])
	server.newSite(t, s.vars["KEY"])
	s.env = append(s.env, "GALLEY_KEY="+siteKey)
	if code, stdout, stderr := s.piped(t, "", "locales", "list"); code != 0 || !strings.Contains(stdout, "en-US") {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
	if code, _, stderr := s.piped(t, "", "sites", "list"); code != 1 || !strings.Contains(stderr, "use an App key") {
		t.Errorf("exit code %d, %s", code, stderr)
	}
}

func TestInterruptEndsAQuestion(t *testing.T) {
	t.Parallel()
	s := newShell(t, serve(t, nil))
	if code, shown := s.typed(t, "\x03", "login", s.server.url); code != 1 || !strings.Contains(shown, "galley: interrupted") {
		t.Errorf("exit code %d\n%s", code, shown)
	}
	s.env = append(s.env, "GALLEY_URL="+s.server.url, "GALLEY_KEY="+s.vars["KEY"])
	s.server.newSite(t, s.vars["KEY"])
	if code, shown := s.typed(t, "\x03", "sites", "delete", "Shop"); code != 1 || !strings.Contains(shown, "galley: interrupted") {
		t.Errorf("exit code %d\n%s", code, shown)
	}
}

func TestClientFollowsEvents(t *testing.T) {
	t.Parallel()
	server := serve(t, nil)
	s := signedIn(t, server)
	p := prepare(t, s.env, binary, "events", "--follow", "--types", "site.created", "--output", "json")
	p.start(t)
	n := 0
	// What happens before the stream has begun is not followed.
	eventually(t, "an event is printed", func() bool {
		n++
		server.newSite(t, s.vars["KEY"])
		return strings.Contains(p.stdout.String(), "\n")
	})
	line, _, _ := strings.Cut(p.stdout.String(), "\n")
	if list := server.must(t, 200, s.vars["KEY"], "GET", "/v2/events?types=site.created", "").body; !strings.HasPrefix(line, `{"object":"event"`) || !strings.Contains(list, line) {
		t.Errorf("printed %s, the interface has %s", line, list)
	}
	p.signal(t, syscall.SIGINT)
	if code := p.exitCode(t); code != 0 || p.stderr.String() != "" {
		t.Errorf("exit code %d: %s", code, p.stderr.String())
	}
}

func TestBashCompletesCommandsFlagsAndSites(t *testing.T) {
	t.Parallel()
	server := serve(t, nil)
	s := signedIn(t, server)
	server.must(t, 201, s.vars["KEY"], "POST", "/v2/sites", `{"name":"Second shop"}`)
	for line, want := range map[string]string{
		"webh":                "webhooks",
		"pages content ":      "get set delete diff",
		"pages list --out":    "--output",
		"pages list --output": "--output",
		"pages list -o y":     "yaml",
		"pages list --site ":  `Second\ shop`,
		"publish Sec":         `Second\ shop`,
		"events --f":          "--follow",
		"sites get Shop x":    "",
	} {
		got := s.script(t, `source <(galley completion bash)
read -ra COMP_WORDS <<< "galley `+line+`"
[[ "`+line+`" == *" " ]] && COMP_WORDS+=("")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_galley
echo "${COMPREPLY[*]}"`)
		if strings.TrimSpace(got) != want {
			t.Errorf("galley %s: %q, want %q", line, got, want)
		}
	}
}
