package main_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	toLoopback   = "--webhook-allow-networks=127.0.0.0/8"
	oneSecretKey = "GALLEY_SECRET_KEY=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
)

// exampleReceivers are the programs of docs/webhooks.md, which use the packages of the
// Standard Webhooks project for Go and Node.
func exampleReceivers(t *testing.T) map[string][]string {
	t.Helper()
	node, err := filepath.Abs("../../examples/webhooks/node")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(node, "node_modules", "standardwebhooks")); err != nil {
		t.Fatalf("this test needs an npm package: run make deps (%v)", err)
	}
	program := filepath.Join(t.TempDir(), "receiver")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "../../examples/webhooks/go").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return map[string][]string{"Go": {program}, "Node": {"node", filepath.Join(node, "receiver.js")}}
}

// receive starts a receiver that knows a secret.
func receive(t *testing.T, command []string, port, secret string) *process {
	t.Helper()
	p := prepare(t, []string{"PORT=" + port, "WEBHOOK_SECRET=" + secret}, command[0], command[1:]...)
	p.start(t)
	eventually(t, "the receiver listens", func() bool {
		c, err := net.Dial("tcp", "127.0.0.1:"+port)
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	})
	return p
}

func TestWebhooksAreVerifiedByTheirOwnPackages(t *testing.T) {
	t.Parallel()
	receivers := exampleReceivers(t)
	onBothEngines(t, func(t *testing.T, store ...string) {
		server := serve(t, []string{oneSecretKey}, append(store, toLoopback)...)
		key := server.key(t)
		site, _ := server.newSite(t, key)
		pages := 0
		for language, command := range receivers {
			port := strconv.Itoa(freePort(t))
			made := server.must(t, 201, key, "POST", "/v2/webhooks", `{"url":"http://127.0.0.1:`+port+`/","siteIds":["`+site+`"]}`)
			webhook := "/v2/webhooks/" + made.field(t, "id")
			seen := map[string]bool{}
			// check writes a page, and waits for what becomes of its delivery.
			check := func(what, secret string, status int) {
				t.Helper()
				receiver := receive(t, command, port, secret)
				pages++
				page := server.must(t, 201, key, "POST", "/v6/pages", fmt.Sprintf(`{"siteId":%q,"pathname":"/%d"}`, site, pages)).field(t, "id")
				eventually(t, language+" answers, "+what, func() bool {
					var list struct {
						Data []struct {
							ID       string
							Attempts []struct{ Status int }
						}
					}
					r := server.must(t, 200, key, "GET", webhook+"/deliveries?limit=1", "")
					if err := json.Unmarshal([]byte(r.body), &list); err != nil {
						t.Fatal(err)
					}
					if len(list.Data) == 0 || seen[list.Data[0].ID] || len(list.Data[0].Attempts) == 0 {
						return false
					}
					attempts := list.Data[0].Attempts
					if attempts[len(attempts)-1].Status != status {
						return false
					}
					seen[list.Data[0].ID] = true
					return true
				})
				if got := receiver.stdout.String(); strings.Contains(got, "page.created "+page) != (status == 204) {
					t.Errorf("%s, %s: it printed %q", language, what, got)
				}
				receiver.kill()
				time.Sleep(200 * time.Millisecond) // let the connection end
				server.must(t, 200, key, "PATCH", webhook, `{"isEnabled":false}`)
				server.must(t, 200, key, "PATCH", webhook, `{"isEnabled":true}`)
			}
			first := made.field(t, "secret")
			check("the secret", first, 204)
			check("another secret", "whsec_"+base64.StdEncoding.EncodeToString(make([]byte, 24)), 400)
			second := server.must(t, 200, key, "POST", webhook+"/rotate-secret", "").field(t, "secret")
			check("the old secret in its grace", first, 204)
			check("the new secret in the grace", second, 204)
			third := server.must(t, 200, key, "POST", webhook+"/rotate-secret", `{"graceSeconds":0}`).field(t, "secret")
			check("an old secret without grace", second, 400)
			check("the newest secret", third, 204)
		}
	})
}

// inbox is a receiver that keeps the ids of what it is sent, by the order of arrival.
type inbox struct {
	*httptest.Server
	mu    sync.Mutex
	first map[string][]string // ids by site, in the order of their first arrival
	times map[string]int
}

func newInbox(t *testing.T) *inbox {
	t.Helper()
	b := &inbox{first: map[string][]string{}, times: map[string]int{}}
	b.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var event struct{ ID, SiteID string }
		body, _ := io.ReadAll(r.Body)
		if json.Unmarshal(body, &event) != nil {
			return
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.times[event.ID]++; b.times[event.ID] == 1 {
			b.first[event.SiteID] = append(b.first[event.SiteID], event.ID)
		}
	}))
	t.Cleanup(b.Close)
	return b
}

func (b *inbox) count() (n, doubles int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, times := range b.times {
		n++
		doubles += times - 1
	}
	return n, doubles
}

// listEvents are the ids of all events of a site, oldest first.
func listEvents(t *testing.T, server *process, key, site string) (ids []string) {
	t.Helper()
	for cursor := ""; ; {
		var list struct {
			Data    []struct{ ID string }
			HasMore bool
		}
		r := server.must(t, 200, key, "GET", "/v2/events?limit=100&siteId="+site+cursor, "")
		if err := json.Unmarshal([]byte(r.body), &list); err != nil {
			t.Fatal(err)
		}
		for _, e := range list.Data {
			ids = append(ids, e.ID)
		}
		if !list.HasMore {
			return ids
		}
		cursor = "&startingAfter=" + ids[len(ids)-1]
	}
}

// A server that is killed while it sends loses nothing, and keeps the order of first
// arrivals.
func TestWebhooksSurviveKill(t *testing.T) {
	t.Parallel()
	onBothEngines(t, func(t *testing.T, store ...string) {
		env := []string{oneSecretKey}
		box := newInbox(t)
		server := serve(t, env, append(store, toLoopback)...)
		key := server.key(t)
		sites := []string{}
		for range 3 {
			site, _ := server.newSite(t, key)
			sites = append(sites, site)
		}
		server.must(t, 201, key, "POST", "/v2/webhooks", `{"url":"`+box.URL+`"}`)
		const rounds, pages = 4, 40
		for round := range rounds {
			for n := range pages {
				server.must(t, 201, key, "POST", "/v6/pages", fmt.Sprintf(`{"siteId":%q,"pathname":"/%d-%d"}`, sites[n%3], round, n))
			}
			server.kill()
			server = serve(t, env, append(store, toLoopback)...)
		}
		eventually(t, "all arrive", func() bool { n, _ := box.count(); return n >= rounds*pages })
		n, doubles := box.count()
		t.Logf("%d events, %d more than once", n, doubles)
		for _, site := range sites {
			want := listEvents(t, server, key, site)[1:] // without the creation of the site
			if got := box.first[site]; strings.Join(got, " ") != strings.Join(want, " ") {
				t.Errorf("site %s: %d events arrived in another order than %d were committed in", site, len(got), len(want))
			}
		}
	})
}

func TestSecretKeyOfWebhooks(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	name := filepath.Join(folder, "secret.key")
	server := serve(t, nil, "--data", folder)
	key := server.key(t)
	info, err := os.Stat(name)
	if err != nil || info.Mode() != fs.FileMode(0o600) {
		t.Fatalf("secret.key: %v %v", info, err)
	}
	before, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	made := server.must(t, 201, key, "POST", "/v2/webhooks", `{"url":"https://example.com/"}`)
	secret := strings.TrimPrefix(made.field(t, "secret"), "whsec_")
	raw, err := base64.StdEncoding.DecodeString(secret)
	if err != nil || len(raw) != 24 {
		t.Errorf("the secret has %d bytes: %v", len(raw), err)
	}
	backup := filepath.Join(t.TempDir(), "backup")
	mustRun(t, nil, "backup", "--data", folder, backup)
	server.stop(t)
	again := serve(t, nil, "--data", folder)
	again.must(t, 200, key, "POST", "/v2/webhooks/"+made.field(t, "id")+"/rotate-secret", "")
	again.stop(t)
	if after, err := os.ReadFile(name); err != nil || string(after) != string(before) {
		t.Error("the key changes with a restart")
	}
	for _, file := range []string{backup, filepath.Join(folder, "galley.db")} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), secret) || strings.Contains(string(text), string(raw)) || strings.Contains(string(text), strings.TrimSpace(string(before))) {
			t.Errorf("%s has the secret or the key", file)
		}
	}
	for setting, want := range map[string]string{"GALLEY_SECRET_KEY=short": "--secret-key must be 32 bytes in base64", "GALLEY_WEBHOOK_ALLOW_NETWORKS=10.0.0.0/99": "is not a network"} {
		if code, _, stderr := run(t, []string{setting}, "serve"); code == 0 || !strings.Contains(stderr, want) {
			t.Errorf("%s: code %d, %s", setting, code, stderr)
		}
	}
	if err := os.WriteFile(name, []byte("broken"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := run(t, nil, "serve", "--data", folder, "--addr", "127.0.0.1:0"); code == 0 || !strings.Contains(stderr, "secret.key must be 32 bytes") {
		t.Errorf("a broken file: code %d, %s", code, stderr)
	}
}

// The document shows the example receivers as they are, and its commands are there to
// be pasted, one after the other.
func TestCallsOfTheWebhooksDocumentWork(t *testing.T) {
	t.Parallel()
	document := readDocument(t, "../../docs/webhooks.md")
	for _, file := range []string{"../../examples/webhooks/node/receiver.js", "../../examples/webhooks/go/main.go"} {
		code := strings.TrimPrefix(readDocument(t, file), "// Command go receives the webhooks of a Galley server.\n")
		if !strings.Contains(document, code) {
			t.Errorf("the document does not have %s", file)
		}
	}
	receivers := exampleReceivers(t)
	server := serve(t, nil, toLoopback)
	port := strconv.Itoa(freePort(t))
	var script strings.Builder
	for i, parts := range block.FindAllStringSubmatch(document, -1) {
		script.WriteString(parts[2])
		if i == 0 { // the other terminal
			fmt.Fprintf(&script, "%s >received & RECEIVER=$!\nsleep 2\n", strings.Join(receivers["Node"], " "))
		}
	}
	script.WriteString("kill $RECEIVER\nwc -l <received\n")
	cmd := exec.CommandContext(t.Context(), "sh", "-e", "-c", script.String())
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "KEY="+server.key(t), "URL="+server.url, "PORT="+port)
	out, err := cmd.CombinedOutput()
	const want = "delivered\n204\n/about\npage.created\nwebhook.test\npending\n1\nwhsec_\n"
	if err != nil || !strings.Contains(string(out), want) {
		t.Errorf("%v\n%s\nwant\n%s", err, out, want)
	}
}
