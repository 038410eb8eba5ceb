package httpapi_test

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
)

const idempotencyKey = "Idempotency-Key"

var hostileIdempotencyKeys = []hostile{
	{name: "empty", headers: []string{idempotencyKey, ""}},
	{name: "blanks", headers: []string{idempotencyKey, "   "}},
	{name: "256 characters", headers: []string{idempotencyKey, strings.Repeat("k", 256)}},
	{name: "10,000 characters", headers: []string{idempotencyKey, strings.Repeat("k", 10_000)}},
	{name: "twice", headers: []string{idempotencyKey, "a", idempotencyKey, "b"}},
	{name: "twice the same", headers: []string{idempotencyKey, "a", idempotencyKey, "a"}},
	{name: "not ASCII", headers: []string{idempotencyKey, "ключ"}},
	{name: "no UTF-8", headers: []string{idempotencyKey, "a\xff"}},
	{name: "tab", headers: []string{idempotencyKey, "a\tb"}},
}

func TestHostileIdempotencyKeys(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		w := newHostileWorld(t, s)
		w.everything = w.look(t)
		for _, c := range hostileIdempotencyKeys {
			c.method, c.target, c.body = "POST", "/v2/sites", `{"name":"x"}`
			c.status, c.fields = 400, []string{idempotencyKey}
			t.Run(c.name, func(t *testing.T) { w.check(t, c) })
		}
		for _, c := range []hostile{
			{name: "255 characters", method: "POST", target: "/v2/sites", body: `{"name":"x"}`, headers: []string{idempotencyKey, strings.Repeat("k", 255)}, status: 201},
			{name: "SQL", method: "POST", target: "/v2/sites", body: `{"name":"x"}`, headers: []string{idempotencyKey, "'; DROP TABLE sites;--"}, status: 201},
			{name: "ignored on GET", target: "/v2/sites", headers: []string{idempotencyKey, ""}, status: 200},
			{name: "ignored on PATCH", method: "PATCH", target: "/v6/pages/{about}", headers: []string{idempotencyKey, "", idempotencyKey, ""}, body: `{}`, status: 200, unchanged: true},
			{name: "no key, no answer", as: "-", method: "POST", target: "/v2/sites", body: `{"name":"x"}`, headers: []string{idempotencyKey, "'; DROP TABLE sites;--"}, status: 401},
			{name: "too large", method: "POST", target: "/v2/sites", body: `{"name":"` + strings.Repeat("a", mebibyte) + `"}`, headers: []string{idempotencyKey, "large"}, status: 413},
			{name: "too large, chunked", method: "POST", target: "/v2/sites", body: `{"name":"` + strings.Repeat("a", mebibyte) + `"}`, chunked: true, headers: []string{idempotencyKey, "large"}, status: 413},
			{name: "no body", method: "POST", target: "/v6/pages/{about}/publish", headers: []string{idempotencyKey, "none"}, status: 201},
			{name: "too large where none was", method: "POST", target: "/v6/pages/{about}/publish", body: strings.Repeat("a", 2*mebibyte), headers: []string{idempotencyKey, "none"}, status: 413},
			{name: "too large where none was, chunked", method: "POST", target: "/v6/pages/{about}/publish", body: strings.Repeat("a", 2*mebibyte), chunked: true, headers: []string{idempotencyKey, "none"}, status: 413},
		} {
			t.Run(c.name, func(t *testing.T) { w.check(t, c) })
		}
	})
}

// count is how many sites there are.
func (w *hostileWorld) count(t *testing.T, key string) int {
	t.Helper()
	return bytes.Count(w.plainGet(t, key, "/v2/sites?limit=100"), []byte(`"object":"site"`))
}

func TestSameRequestHasOneEffect(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		w := newHostileWorld(t, s)
		for _, c := range []hostile{
			{name: "site", target: "/v2/sites", body: `{"name":"Once"}`},
			{name: "copy", target: "/v2/sites/{site}/duplicate", body: `{"name":"Once"}`},
			{name: "page", target: "/v6/pages", body: `{"siteId":"{site}","pathname":"/once"}`},
			{name: "route", target: "/v2/routes", body: `{"siteId":"{site}","pathname":"/once-too"}`},
			{name: "locale", target: "/v2/locales", body: `{"siteId":"{site}","locale":"it"}`},
			{name: "batch", target: "/v6/pages/batch", body: `{"siteId":"{site}","operations":[{"op":"create","pathname":"/once-more"}]}`},
			{name: "app", target: "/v2/apps", body: `{"name":"Once"}`},
			{name: "preview", target: "/v2/previews", body: `{"siteId":"{site}"}`},
			{name: "key of a site", target: "/v2/sites/{other}/rotate-key"},
			{name: "key of an app", target: "/v2/apps/{reader}/rotate"},
			{name: "restored page", target: "/v6/pages/{deleted}/restore"},
			{name: "page taken back", target: "/v6/pages/{nested}/discard"},
		} {
			t.Run(c.name, func(t *testing.T) {
				c.method, c.headers = "POST", []string{idempotencyKey, "once " + c.name}
				first := w.sendHostile(t, w.fill(c))
				after := w.look(t)
				again := w.sendHostile(t, w.fill(c))
				if first.status/100 != 2 || again.status != first.status || !bytes.Equal(again.body, first.body) {
					t.Errorf("first %d, again %d:\n%s\n%s", first.status, again.status, first.body, again.body)
				}
				for _, name := range []string{"Location", "Content-Type", "Cache-Control", "ETag"} {
					if first.header.Get(name) != again.header.Get(name) {
						t.Errorf("%s is %q, and again %q", name, first.header.Get(name), again.header.Get(name))
					}
				}
				if w.look(t) != after {
					t.Error("the second request changed something")
				}
			})
		}
	})
}

func TestOtherRequestWithTheSameKey(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		w := newHostileWorld(t, s)
		once := hostile{method: "POST", target: "/v2/sites", body: `{"name":"Once"}`, headers: []string{idempotencyKey, "k"}}
		first := w.sendHostile(t, w.fill(once))
		w.everything = w.look(t)

		other := once
		other.body, other.status, other.fields = `{"name":"Other"}`, 400, []string{idempotencyKey}
		t.Run("body", func(t *testing.T) { w.check(t, other) })
		spaced := other
		spaced.body = `{"name":"Once" }`
		t.Run("body but for a blank", func(t *testing.T) { w.check(t, spaced) })

		t.Run("content type but for its spelling", func(t *testing.T) {
			spelled := once
			spelled.headers = append([]string{"Content-Type", "Application/json; charset=utf-8"}, once.headers...)
			if r := w.sendHostile(t, w.fill(spelled)); r.status != 201 || !bytes.Equal(r.body, first.body) {
				t.Errorf("the same request is answered %d\n%s", r.status, r.body)
			}
		})

		t.Run("no body and an empty one", func(t *testing.T) {
			target := w.fill(hostile{target: "/v2/sites/{site}/rotate-key"}).target
			headers := []string{idempotencyKey, "bodiless"}
			without := w.must(t, 200, "POST", target, "", headers...)
			with := w.must(t, 200, "POST", target, "{}", headers...)
			checkEqual(t, "the answer", string(without.body), string(with.body))
		})

		t.Run("credential", func(t *testing.T) {
			foreign := once
			foreign.as = "{foreignKey}"
			before := w.count(t, w.values["{foreignKey}"])
			r := w.sendHostile(t, w.fill(foreign))
			if r.status != 201 || bytes.Equal(r.body, first.body) || w.count(t, w.values["{foreignKey}"]) != before+1 {
				t.Errorf("another workspace's request with the same key: %d\n%s", r.status, r.body)
			}
		})
	})
}

// Only a success is kept: what failed may be put right and sent again.
func TestAfterAFailureTheRequestRunsAnew(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		w := newHostileWorld(t, s)
		headers := []string{idempotencyKey, "again"}
		w.everything = w.look(t)
		for _, c := range []hostile{
			{name: "400", method: "POST", target: "/v6/pages", body: `{"siteId":"{site}"}`, headers: headers, status: 400, fields: []string{"pathname"}},
			{name: "409", method: "POST", target: "/v6/pages", body: `{"siteId":"{site}","pathname":"/about"}`, headers: headers, status: 409},
			{name: "404", method: "POST", target: "/v6/pages", body: `{"siteId":"{unknown}","pathname":"/x"}`, headers: headers, status: 404},
			{name: "free the pathname", method: "DELETE", target: "/v6/pages/{about}", status: 204},
			{name: "the same that was 409", method: "POST", target: "/v6/pages", body: `{"siteId":"{site}","pathname":"/about"}`, headers: headers, status: 201},
			{name: "what was 400 before", method: "POST", target: "/v6/pages", body: `{"siteId":"{site}"}`, headers: headers, status: 400, fields: []string{idempotencyKey}},
		} {
			t.Run(c.name, func(t *testing.T) { w.check(t, c) })
		}
	})
}

// A replay is for who may still ask: a key that was revoked gets nothing.
func TestReplayNeedsTheRight(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		w := newHostileWorld(t, s)
		app := s.must(t, 201, "POST", "/v2/apps", `{"name":"Writer","scopes":["write"]}`)
		once := hostile{as: app.str(t, "key"), method: "POST", target: "/v2/sites", body: `{"name":"Once"}`, headers: []string{idempotencyKey, "k"}, status: 201}
		w.check(t, once)
		s.must(t, 200, "PATCH", "/v2/apps/"+app.str(t, "id"), `{"scopes":["read"]}`)
		w.everything = w.look(t)
		once.status = 403
		w.check(t, once)
		s.must(t, 204, "DELETE", "/v2/apps/"+app.str(t, "id"), "")
		w.everything = w.look(t)
		once.status = 401
		w.check(t, once)
	})
}

// What an app may no longer ask for is not repeated to it, either.
func TestReplayNeedsTheSitesAndApps(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		mine, _ := s.newSite(t)
		other, _ := s.newSite(t)
		gone, _ := s.newSite(t)
		id, key := s.newApp(t, `{"name":"Narrowed"}`)
		replay := func(status int, target, body string) {
			t.Helper()
			if r := s.send(t, key, "POST", target, body, idempotencyKey, target+body); r.status != status {
				t.Errorf("%s %s: got %d, want %d\n%s", target, body, r.status, status, r.body)
			}
		}
		type sent struct {
			target, body  string
			first, narrow int
		}
		requests := []sent{
			{"/v6/pages", `{"siteId":"` + mine + `","pathname":"/x"}`, 201, 201},
			{"/v6/pages", `{"siteId":"` + other + `","pathname":"/x"}`, 201, 403},
			{"/v6/pages", `{"siteId":"` + gone + `","pathname":"/x"}`, 201, 404},
			{"/v2/sites/" + other + "/publish", `{}`, 201, 403},
			{"/v6/pages/batch", `{"siteId":"` + other + `","operations":[{"op":"create","pathname":"/y"}]}`, 200, 403},
			{"/v2/routes", `{"siteId":"` + gone + `","pathname":"/r"}`, 201, 404},
			{"/v2/sites/" + mine + "/rotate-key", ``, 200, 200},
			{"/v2/sites/" + other + "/rotate-key", ``, 200, 403},
			{"/v2/sites", `{"name":"New"}`, 201, 403},
			{"/v2/sites/" + mine + "/duplicate", `{"name":"New"}`, 201, 403},
			{"/v2/apps", `{"name":"Wide"}`, 201, 403},
			{"/v2/apps", `{"name":"Slim","siteIds":["` + mine + `"],"scopes":["read"]}`, 201, 201},
		}
		for _, r := range requests {
			replay(r.first, r.target, r.body)
		}
		s.must(t, 204, "DELETE", "/v2/sites/"+gone, "")
		s.must(t, 200, "PATCH", "/v2/apps/"+id, `{"siteIds":["`+mine+`"]}`)
		for _, r := range requests {
			replay(r.narrow, r.target, r.body)
		}
	})
}

// Of many at once one takes effect; the others repeat it or are told to wait.
func TestSameRequestManyTimesAtOnce(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		w := newHostileWorld(t, s)
		before := w.count(t, s.key)
		var mu sync.Mutex
		statuses, bodies := map[int]int{}, map[string]bool{}
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				req, err := http.NewRequest("POST", s.url+"/v2/sites", strings.NewReader(`{"name":"Once"}`))
				if err != nil {
					t.Error(err)
					return
				}
				req.Header.Set("X-Api-Key", s.key)
				req.Header.Set("Content-Type", "application/json")
				req.Header.Set(idempotencyKey, "storm")
				r := s.do(t, req)
				mu.Lock()
				defer mu.Unlock()
				statuses[r.status]++
				if r.status == 201 {
					bodies[string(r.body)] = true
				}
			})
		}
		all.Wait()
		if len(bodies) != 1 || statuses[201]+statuses[409] != 20 || w.count(t, s.key) != before+1 {
			t.Error(fmt.Sprint(statuses), len(bodies), "different answers,", w.count(t, s.key)-before, "sites made")
		}
	})
}
