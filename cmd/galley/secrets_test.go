package main_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"galley/internal/pgtest"
)

// canaries are the secrets of a run, by where they were put in.
type canaries map[string]string

// plant makes a secret up that nothing else contains.
func (c canaries) plant(place string) string {
	sum := sha256.Sum256([]byte(place))
	c[place] = "cnry" + hex.EncodeToString(sum[:12])
	return c[place]
}

// check looks for the secrets in what came out somewhere, as they are and in
// the forms that a dump or a header could give them.
func (c canaries) check(t *testing.T, outlet, text string) {
	t.Helper()
	lower := strings.ToLower(text)
	for place, secret := range c {
		if strings.Contains(text, secret) {
			t.Errorf("%s has the secret of %s", outlet, place)
		}
		if strings.Contains(lower, hex.EncodeToString([]byte(secret))) {
			t.Errorf("%s has the secret of %s in hex", outlet, place)
		}
		for skip := range 3 { // it need not begin where three bytes do
			whole := (len(secret) - skip) / 3 * 3
			if strings.Contains(text, base64.StdEncoding.EncodeToString([]byte(secret[skip:skip+whole]))) {
				t.Errorf("%s has the secret of %s in base64", outlet, place)
			}
		}
	}
}

// secretStore is where a run keeps its data, for those who look into it and break it.
type secretStore struct {
	flags  []string // of the command line, beside the server
	env    []string
	dump   func(t *testing.T) string
	refuse func(t *testing.T) // makes the store refuse new routes
	away   func(t *testing.T) // takes the store away, if it can be
}

func sqliteWithSecrets(t *testing.T) secretStore {
	dir := t.TempDir()
	return secretStore{
		flags: []string{"--data", dir}, env: []string{"GALLEY_DATA=" + dir},
		dump: func(t *testing.T) string {
			t.Helper()
			files, err := filepath.Glob(filepath.Join(dir, "*"))
			if err != nil {
				t.Fatal(err)
			}
			var all bytes.Buffer
			for _, file := range files {
				text, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				all.Write(text)
			}
			return all.String()
		},
		refuse: func(t *testing.T) {
			t.Helper()
			sqlite(t, dir, `create trigger refuse before insert on route begin select raise(abort, 'refused'); end`)
		},
		away: func(*testing.T) {},
	}
}

func postgresWithSecrets(t *testing.T, password string) secretStore {
	direct := pgtest.URL(t)
	database := newProxy(t, direct)
	// The test's server trusts everyone, so any password will do.
	url := strings.Replace(database.url, "postgres@", "postgres:"+password+"@", 1)
	return secretStore{
		flags: []string{"--database-url", direct}, env: []string{"GALLEY_DATABASE_URL=" + url},
		dump: func(t *testing.T) string {
			t.Helper()
			out, err := exec.Command("pg_dump", direct).Output()
			if err != nil {
				t.Fatalf("pg_dump: %v", err)
			}
			return string(out)
		},
		refuse: func(t *testing.T) {
			t.Helper()
			db, err := sql.Open("pgx", direct)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = db.Close() }()
			// The server's message about it has the whole row in its detail.
			if _, err := db.Exec(`alter table route add constraint refuse check (pathname = '') not valid`); err != nil {
				t.Fatal(err)
			}
		},
		away: func(*testing.T) { database.cut() },
	}
}

// spy sends requests and keeps what came back.
type spy struct {
	*process
	secrets  canaries
	statuses map[int]bool
}

// visit sends a request that carries secrets where every request can. What is
// answered may show none, but for the body of a success.
func (s *spy) visit(t *testing.T, status int, key, method, target, body string, headers ...string) reply {
	t.Helper()
	for _, name := range []string{"User-Agent", "Referer", "Cookie", "X-Request-Id", "X-Real-Ip", "Traceparent", "X-Unknown"} {
		headers = append([]string{name, s.secrets.plant("the header " + name)}, headers...)
	}
	headers = append([]string{"X-Forwarded-For", "10.0.0.1, " + s.secrets.plant("the header X-Forwarded-For")}, headers...)
	r, err := s.ask(key, method, target, body, headers...)
	if err != nil {
		t.Fatal(err)
	}
	if r.status != status {
		t.Fatalf("%s %s: got %d, want %d\n%s", method, target, r.status, status, r.body)
	}
	s.statuses[r.status] = true
	outlet := fmt.Sprintf("the answer %d to %s %s", r.status, method, target)
	for name, values := range r.header {
		s.secrets.check(t, outlet+" in "+name, strings.Join(values, ","))
	}
	if r.status >= 400 {
		s.secrets.check(t, outlet, r.body)
	}
	return r
}

func TestNoSecretComesOutAnywhere(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(*testing.T, string) secretStore{
		"sqlite": func(t *testing.T, _ string) secretStore { return sqliteWithSecrets(t) }, "postgres": postgresWithSecrets,
	} {
		t.Run(name, func(t *testing.T) {
			secrets := canaries{}
			store := open(t, secrets.plant("the database's password"))
			shared := newRedis(t, secrets.plant("the Redis password"))
			secrets["the bootstrap key"] = strings.TrimSpace(mustRun(t, nil, "keygen"))
			env := slices.Concat(store.env, []string{"GALLEY_REDIS_URL=" + shared.url(), "GALLEY_BOOTSTRAP_KEY=" + secrets["the bootstrap key"]})
			s := &spy{serve(t, env, "--log-level", "debug", "--auth-rate", fmt.Sprintf("40/%d", day)), secrets, map[int]bool{}}

			content := s.useWell(t, store)
			s.useBadly(t)
			s.checkOutlets(t, store, shared, content)
			s.breakStore(t, store)
			for _, status := range []int{200, 201, 204, 304, 400, 401, 403, 404, 405, 409, 412, 413, 415, 429, 500} {
				if !s.statuses[status] {
					t.Errorf("nothing was answered with %d", status)
				}
			}
			s.stop(t)
			for outlet, text := range map[string]string{"standard output": s.stdout.String(), "the log": s.stderr.String()} {
				secrets.check(t, outlet, text)
				content.check(t, outlet, text)
			}
			secrets.check(t, "the stopped server's store", store.dump(t))
		})
	}
}

// useWell makes keys in every way there is, and content, whose own canaries may
// be stored but not logged.
func (s *spy) useWell(t *testing.T, store secretStore) canaries {
	t.Helper()
	admin := s.secrets["the bootstrap key"]
	site := s.visit(t, 201, admin, "POST", "/v2/sites", `{"name":"Shop"}`)
	siteID, siteKey := site.field(t, "id"), site.field(t, "publicApiKey")
	content := canaries{"a Site key": siteKey}

	cli := createApp(t, append(store.flags, "--name", "By command")...)
	s.secrets["an app made at the command line"] = cli.Key
	made := s.visit(t, 201, admin, "POST", "/v2/apps", `{"name":"Plain"}`)
	app := "/v2/apps/" + made.field(t, "id")
	s.secrets["a new app"] = made.field(t, "key")
	// A kept answer that shows a key is repeated, and still not to be read.
	once := []string{"Idempotency-Key", s.secrets.plant("the header Idempotency-Key")}
	for range 2 {
		s.secrets["a new app, kept"] = s.visit(t, 201, admin, "POST", "/v2/apps", `{"name":"Kept"}`, once...).field(t, "key")
		s.secrets["a rotated app, kept"] = s.visit(t, 200, admin, "POST", app+"/rotate", `{"graceSeconds":600}`, "Idempotency-Key", "rotate").field(t, "key")
	}
	s.secrets["a rotated app"] = s.visit(t, 200, admin, "POST", app+"/rotate", "").field(t, "key")
	preview := fmt.Sprintf(`{"siteId":%q,"name":"Preview"}`, siteID)
	s.visit(t, 200, admin, "PATCH", "/v2/sites/"+siteID, `{"previewUrlTemplate":"https://www.example.com{pathname}?token={token}"}`)
	for range 2 {
		s.secrets["a preview, kept"] = s.visit(t, 201, admin, "POST", "/v2/previews", preview, "Idempotency-Key", "preview").field(t, "token")
	}
	made = s.visit(t, 201, admin, "POST", "/v2/previews", preview)
	s.secrets["a preview"] = made.field(t, "token")
	s.visit(t, 200, s.secrets["a preview"], "GET", "/v2/sites/"+siteID, "")
	s.visit(t, 204, admin, "DELETE", "/v2/previews/"+made.field(t, "id"), "")
	content["a Site key that was rotated"] = s.visit(t, 200, admin, "POST", "/v2/sites/"+siteID+"/rotate-key", "").field(t, "publicApiKey")
	siteKey = content["a Site key that was rotated"]

	page := s.visit(t, 201, admin, "POST", "/v6/pages", fmt.Sprintf(`{"siteId":%q,"pathname":"/%s","title":%q}`,
		siteID, content.plant("a pathname"), content.plant("a title")))
	target := "/v6/pages/" + page.field(t, "id")
	s.visit(t, 200, siteKey, "GET", "/v6/pages/"+content["a pathname"]+"?siteId="+siteID, "")
	s.visit(t, 304, admin, "GET", target, "", "If-None-Match", page.header.Get("ETag"))
	s.visit(t, 200, admin, "PATCH", app, fmt.Sprintf(`{"name":%q,"description":%q}`, content.plant("an app's name"), content.plant("a description")))
	s.visit(t, 201, admin, "POST", "/v2/sites/"+siteID+"/publish", fmt.Sprintf(`{"name":%q}`, content.plant("a publish's name")))
	s.visit(t, 412, admin, "PATCH", target, `{"title":"x"}`, "If-Match", s.secrets.plant("the header If-Match"))
	s.visit(t, 409, admin, "POST", "/v6/pages", fmt.Sprintf(`{"siteId":%q,"pathname":"/%s"}`, siteID, content["a pathname"]))
	s.visit(t, 204, admin, "DELETE", app, "")
	s.visit(t, 401, s.secrets["a rotated app"], "GET", "/v2/sites", "")
	s.visit(t, 403, siteKey, "GET", "/v2/sites", "")
	return content
}

// useBadly puts secrets where they do not belong.
func (s *spy) useBadly(t *testing.T) {
	t.Helper()
	admin, p := s.secrets["the bootstrap key"], s.secrets.plant
	s.secrets["a mistyped key"] = swapLast(admin)
	s.secrets["an unknown key"] = strings.TrimSpace(mustRun(t, nil, "keygen"))
	for _, wrong := range []string{s.secrets["a mistyped key"], s.secrets["an unknown key"], p("a key of no form"), admin + ", " + admin} {
		s.visit(t, 401, wrong, "GET", "/v2/sites", "")
		s.visit(t, 401, "", "GET", "/v2/sites", "", "Authorization", "Bearer "+wrong)
		s.visit(t, 401, "", "GET", "/v2/sites", "", "Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte("user:"+wrong)))
	}
	s.visit(t, 400, admin, "GET", "/v2/sites", "", "Authorization", "Bearer "+admin)
	s.visit(t, 401, "", "GET", "/v2/sites?x-api-key="+admin+"&"+p("a parameter's name")+"=1", "")

	secret := p("a query")
	s.visit(t, 400, admin, "GET", "/v2/sites?x-api-key="+admin+"&token="+secret, "")
	for _, target := range []string{
		"/v2/sites?limit=" + secret, "/v2/sites?startingAfter=" + secret, "/v6/pages?siteId=" + secret, "/v6/pages?versionRef=" + secret + "&siteId=" + fixedWorkspace,
		"/v2/locales/" + p("a locale's address"), "/v2/sites?limit=%zz" + secret, "/v2/audit?since=" + secret,
	} {
		s.visit(t, 400, admin, "GET", target, "")
	}
	for _, target := range []string{
		"/" + p("an address"), "/v2/sites/" + p("a site's address"), "/v2/apps/" + admin, "/v2/publishes/" + p("a publish's address"),
		"/v6/pages/" + p("a page's address") + "?siteId=" + fixedWorkspace, "/healthz/" + p("an open address"), "/debug/pprof/" + p("a profile's address"),
	} {
		s.visit(t, 404, admin, "GET", target, "")
	}
	s.visit(t, 405, admin, "PUT", "/v2/sites?"+secret, "{}")
	s.visit(t, 405, admin, strings.ToUpper(p("a method")), "/v2/sites", "")
	s.secrets["a method"] = strings.ToUpper(s.secrets["a method"])

	secret = p("a refused body")
	for _, body := range []string{
		`{"name":` + secret + `}`, `{"name":"` + secret, `["` + secret + `"]`, `"` + secret + `"`, `{"name":1,"hostOrigin":"` + secret + `"}`,
		`{"name":"x","defaultLocale":"` + secret + `"}`, `{"name":"x","localeManagementMode":"` + secret + `"}`, `{"name":"x","workspaceId":"` + secret + `"}`,
		`{"name":"x","hostOrigin":"https://user:` + secret + `@example.com"}`,
	} {
		s.visit(t, 400, admin, "POST", "/v2/sites", body)
	}
	s.visit(t, 400, admin, "POST", "/v2/apps", `{"name":"x","scopes":["`+secret+`"],"expiresAt":"`+secret+`","siteIds":["`+secret+`"]}`)
	s.visit(t, 415, admin, "POST", "/v2/sites", secret, "Content-Type", "text/"+p("a content type"))
	s.visit(t, 413, admin, "POST", "/v2/sites", `{"name":"`+strings.Repeat(secret, 1<<20/len(secret)+1)+`"}`)
	s.visit(t, 400, admin, "POST", "/v2/sites", `{"name":"x"}`, "Idempotency-Key", p("a bad idempotency key")+"\tx")
	s.visit(t, 400, admin, "POST", "/v2/apps", `{"name":"`+secret+`"}`, "Idempotency-Key", s.secrets["the header Idempotency-Key"])

	for _, raw := range []string{
		"GET /" + p("a raw address") + " HTTP/1.1\r\nHost: " + p("a host") + "\r\nX-Api-Key: " + admin + "\r\nConnection: close\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: x\r\n" + p("a malformed header") + " : x\r\n\r\n",
		"GET /" + p("a malformed request line") + "\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: x\r\nX-Long: " + strings.Repeat(p("a long header"), 1<<13) + "\r\n\r\n",
		"POST /v2/sites HTTP/1.1\r\nHost: x\r\nX-Api-Key: " + admin + "\r\nContent-Length: " + p("a length") + "\r\n\r\n",
	} {
		answer, _ := io.ReadAll(s.slowRequest(t, raw).in) // the connection may be cut
		s.secrets.check(t, "the answer to a raw request", string(answer))
	}
	secret = p("a key too many")
	eventually(t, "there are too many wrong keys", func() bool {
		r := s.send(t, secret, "GET", "/v2/sites", "")
		s.secrets.check(t, "the answer to a key too many", r.body)
		s.statuses[r.status] = true
		return r.status == 429
	})
}

// checkOutlets looks everywhere where something can be read about the server,
// while it runs.
func (s *spy) checkOutlets(t *testing.T, store secretStore, shared *redisServer, content canaries) {
	t.Helper()
	admin := s.secrets["the bootstrap key"]
	outlets := map[string]string{}
	for _, page := range []string{
		"/metrics", "/debug/pprof/", "/debug/pprof/cmdline", "/debug/pprof/symbol", "/debug/pprof/profile?seconds=1", "/debug/pprof/trace?seconds=1",
		"/debug/pprof/goroutine?debug=2", "/debug/pprof/goroutine", "/debug/pprof/heap", "/debug/pprof/heap?debug=1", "/debug/pprof/allocs?debug=1",
		"/debug/pprof/threadcreate?debug=1", "/debug/pprof/block?debug=1", "/debug/pprof/mutex?debug=1",
	} {
		outlets[page] = unpacked(s.send(t, admin, "GET", page, "").body)
	}
	command, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", s.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	outlets["the list of processes"] = string(command)
	outlets["the keys of Redis"] = strings.Join(redisKeys(t, shared), "\n")
	for outlet, text := range outlets {
		if text == "" {
			t.Errorf("%s is empty", outlet)
		}
		content.check(t, outlet, text)
		s.secrets.check(t, outlet, text)
	}

	trail := s.auditTrail(t, admin)
	for _, operation := range []string{"createApp", "rotateAppKey", "deleteApp", "createSite", "rotateSiteKey", "createPage", "publishSite", "createPreview", "deletePreview"} {
		if !strings.Contains(trail, `"operation":"`+operation+`"`) {
			t.Errorf("the audit trail does not tell of %s", operation)
		}
	}
	inTrail := canaries{"a Site key": content["a Site key"], "a rotated Site key": content["a Site key that was rotated"]}
	for place, secret := range s.secrets {
		inTrail[place] = secret
		if strings.HasPrefix(secret, "sk_") || strings.HasPrefix(secret, "pv_") {
			sum := sha256.Sum256([]byte(secret))
			inTrail[place+", hashed"] = string(sum[:])
		}
	}
	inTrail.check(t, "the audit trail", trail)

	s.secrets.check(t, "galley apps list", mustRun(t, nil, append([]string{"apps", "list"}, store.flags...)...))
	s.secrets.check(t, "the running server's store", store.dump(t))
	if dump := store.dump(t); !strings.Contains(dump, content["a title"]) {
		t.Error("the dump has no content: it proves nothing")
	}
}

// unpacked is a text that may be compressed.
func unpacked(text string) string {
	packed, err := gzip.NewReader(strings.NewReader(text))
	if err != nil {
		return text
	}
	plain, err := io.ReadAll(packed)
	if err != nil {
		return text
	}
	return string(plain)
}

func redisKeys(t *testing.T, shared *redisServer) []string {
	t.Helper()
	options, err := redis.ParseURL(shared.url())
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(options)
	defer func() { _ = client.Close() }()
	keys, err := client.Keys(t.Context(), "*").Result()
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

// auditTrail is all of it.
func (s *spy) auditTrail(t *testing.T, admin string) string {
	t.Helper()
	var trail strings.Builder
	for after := ""; ; {
		var list struct {
			Data    []struct{ ID string }
			HasMore bool
		}
		r := s.must(t, 200, admin, "GET", "/v2/audit?limit=100"+after, "")
		trail.WriteString(r.body)
		if err := json.Unmarshal([]byte(r.body), &list); err != nil {
			t.Fatal(err)
		}
		if !list.HasMore {
			return trail.String()
		}
		after = "&startingAfter=" + list.Data[len(list.Data)-1].ID
	}
}

// breakStore makes the store fail under requests that carry secrets.
func (s *spy) breakStore(t *testing.T, store secretStore) {
	t.Helper()
	admin := s.secrets["the bootstrap key"]
	site := s.visit(t, 201, admin, "POST", "/v2/sites", `{"name":"Broken"}`).field(t, "id")
	store.refuse(t)
	s.visit(t, 500, admin, "POST", "/v2/routes", fmt.Sprintf(`{"siteId":%q,"pathname":"/%s"}`, site, s.secrets.plant("a row that the store refuses")))
	store.away(t)
	r := s.send(t, admin, "GET", "/v2/sites", "")
	s.secrets.check(t, "the answer of a server without a store", r.body+fmt.Sprint(r.header))
	if want := slices.Contains(store.flags, "--database-url"); want != (r.status == 503) {
		t.Errorf("got %d once the store was away", r.status)
	}
}

// What is said about bad settings must not repeat the secrets in them.
func TestBadSettingsDoNotShowTheSecretsBesideThem(t *testing.T) {
	t.Parallel()
	secrets := canaries{}
	password := secrets.plant("a password")
	secrets["the bootstrap key"] = strings.TrimSpace(mustRun(t, nil, "keygen"))
	env := []string{
		"GALLEY_DATABASE_URL=postgres://galley:" + password + "@127.0.0.1:1/galley", "GALLEY_REDIS_URL=redis://:" + password + "@127.0.0.1:1/0",
		"GALLEY_BOOTSTRAP_KEY=" + secrets["the bootstrap key"],
	}
	for name, test := range map[string]struct {
		env  []string
		args []string
	}{
		"help":                  {env, []string{"serve", "--help"}},
		"unknown flag":          {env, []string{"serve", "--adr", "x"}},
		"bad rate":              {env, []string{"serve", "--app-rate", "fast"}},
		"database out of reach": {env, []string{"serve", "--addr", "127.0.0.1:0"}},
		"apps list":             {env, []string{"apps", "list"}},
		"mistyped variable":     {append(env, "GALLEY_REDIS_ULR=redis://:"+password+"@x"), []string{"serve", "--addr", "127.0.0.1:0"}},
		"Redis URL":             {[]string{"GALLEY_REDIS_URL=redis://:" + password + "@x:port/0"}, []string{"serve", "--addr", "127.0.0.1:0"}},
		"Redis flag":            {nil, []string{"serve", "--addr", "127.0.0.1:0", "--redis-url", "http://:" + password + "@x"}},
		"database flag":         {nil, []string{"serve", "--addr", "127.0.0.1:0", "--database-url", "postgres://:" + password + "@x:port"}},
		"bootstrap key":         {[]string{"GALLEY_BOOTSTRAP_KEY=" + password}, []string{"serve", "--addr", "127.0.0.1:0"}},
		"file that is no YAML":  {nil, []string{"serve", "--config", configFile(t, "database-url: postgres://:"+password+"@x\nredis-url: [\"redis://:"+password+"@x\n")}},
		"file with a typo":      {nil, []string{"serve", "--config", configFile(t, "database-ulr: postgres://:"+password+"@x\n")}},
		"file with a list":      {nil, []string{"serve", "--config", configFile(t, "redis-url: ["+password+"]\n")}},
		"file with a bad value": {nil, []string{"serve", "--config", configFile(t, "bootstrap-key: "+password+"\naddr: 127.0.0.1:0\n")}},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := run(t, test.env, test.args...)
			if (code == 0) != (name == "help") {
				t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
			}
			secrets.check(t, "what is printed", stdout+stderr)
		})
	}
}
