package main_test

import (
	"strings"
	"testing"
	"time"

	"galley/internal/pgtest"
)

// With the database gone, only what needs no look into it can be answered.
func TestChecksumIsCheckedBeforeTheDatabaseIsAsked(t *testing.T) {
	t.Parallel()
	database := newProxy(t, pgtest.URL(t))
	server := serve(t, nil, "--database-url", database.url)
	key := server.key(t)
	database.cut()
	unknown := strings.TrimSpace(mustRun(t, nil, "keygen"))
	for name, test := range map[string]struct {
		key    string
		status int
	}{
		"none":                             {"", 401},
		"known key with a wrong checksum":  {swapLast(key), 401},
		"other key with a wrong checksum":  {swapLast(unknown), 401},
		"known key cut short":              {key[:len(key)-1], 401},
		"Site key in another form":         {strings.ToUpper(fixedWorkspace), 401},
		"well-formed key that is unknown":  {unknown, 503},
		"well-formed key that is known":    {key, 503},
		"well-formed Site key, not a site": {fixedWorkspace, 503},
	} {
		if r := server.send(t, test.key, "GET", "/v2/sites", ""); r.status != test.status {
			t.Errorf("%s: got %d, want %d\n%s", name, r.status, test.status, r.body)
		}
	}
}

// settles wants every node to answer a GET with a status: the one that made the
// change at once, any other for requests that begin more than a second later.
func (c cluster) settles(t *testing.T, made time.Time, here *process, key, target string, status int) {
	t.Helper()
	for n, node := range c {
		for {
			begun := time.Now()
			r := node.send(t, key, "GET", target, "")
			if r.status == status {
				break
			}
			// By both clocks: what is known is kept for a time of day, which may be set back.
			if node == here || min(begun.Sub(made), begun.Round(0).Sub(made.Round(0))) > time.Second {
				t.Errorf("GET %s on node %d, begun %s after the change: got %d, want %d\n%s", target, n, begun.Sub(made), r.status, status, r.body)
				break
			}
		}
	}
}

func TestChangesToKeysHoldOnEveryNode(t *testing.T) {
	t.Parallel()
	nodes := newCluster(t, 2)
	admin := nodes[0].key(t)
	siteID, siteKey := nodes[0].newSite(t, admin)
	for round := range 10 {
		here := nodes[round%2]
		change := func(method, target, body string, status int) reply {
			t.Helper()
			return here.must(t, status, admin, method, target, body)
		}
		settles := func(key, target string, status int) {
			t.Helper()
			nodes.settles(t, time.Now(), here, key, target, status)
		}
		app := change("POST", "/v2/apps", `{"name":"Brief","scopes":["read","admin"]}`, 201)
		target, first := "/v2/apps/"+app.field(t, "id"), app.field(t, "key")
		settles(first, "/v2/sites", 200)

		change("PATCH", target, `{"scopes":["admin"]}`, 200)
		settles(first, "/v2/sites", 403)
		settles(first, "/v2/workspace", 200)

		second := change("POST", target+"/rotate", `{"graceSeconds":3600}`, 200).field(t, "key")
		settles(first, "/v2/workspace", 200)
		settles(second, "/v2/workspace", 200)
		third := change("POST", target+"/rotate", "", 200).field(t, "key")
		settles(first, "/v2/workspace", 401)
		settles(second, "/v2/workspace", 401)
		settles(third, "/v2/workspace", 200)

		change("DELETE", target, "", 204)
		settles(third, "/v2/workspace", 401)

		settles(siteKey, "/v2/sites/"+siteID, 200)
		fresh := change("POST", "/v2/sites/"+siteID+"/rotate-key", "", 200).field(t, "publicApiKey")
		settles(siteKey, "/v2/sites/"+siteID, 401)
		settles(fresh, "/v2/sites/"+siteID, 200)
		siteKey = fresh
	}
}

// The operator's hand reaches a running server, too.
func TestKeyRevokedAtTheCommandLineStopsWithinASecond(t *testing.T) {
	t.Parallel()
	onBothEngines(t, func(t *testing.T, store ...string) {
		server := serve(t, nil, store...)
		for range 3 {
			app := createApp(t, append(store, "--name", "Brief")...)
			server.must(t, 200, app.Key, "GET", "/v2/sites", "")
			mustRun(t, nil, append([]string{"apps", "revoke", app.ID}, store...)...)
			cluster{server}.settles(t, time.Now(), nil, app.Key, "/v2/sites", 401)
		}
	})
}

// The grace of a rotated key ends by the clock, with nobody doing anything.
func TestGraceEndsOnEveryNode(t *testing.T) {
	t.Parallel()
	oneNodeOrMore(t, 2, func(t *testing.T, nodes cluster) {
		admin := nodes[0].key(t)
		app := nodes[0].must(t, 201, admin, "POST", "/v2/apps", `{"name":"Rotated"}`)
		first := app.field(t, "key")
		second := nodes[0].must(t, 200, admin, "POST", "/v2/apps/"+app.field(t, "id")+"/rotate", `{"graceSeconds":1}`).field(t, "key")
		eventually(t, "the old key ends on every node", func() bool {
			return nodes.each(func(p *process) bool { return p.send(t, first, "GET", "/v2/workspace", "").status == 401 })
		})
		for _, node := range nodes {
			node.must(t, 200, second, "GET", "/v2/workspace", "")
		}
	})
}
