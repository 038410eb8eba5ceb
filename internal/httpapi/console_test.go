package httpapi_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"galley/internal/console"
	"galley/internal/httpapi"
	"galley/internal/ratelimit"
	"galley/internal/sqlstore"
)

// browser is a request as a browser sends it to the console.
func browser(t *testing.T) *http.Request {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/console/sites", nil)
	r.RemoteAddr = "192.0.2.1:1234"
	return r
}

// session signs in with a key.
func (s *system) session(t *testing.T, key string) string {
	t.Helper()
	session, answer := s.api.SignIn(browser(t), key)
	if answer.Failed() {
		t.Fatalf("%d %s", answer.Status, answer.Body)
	}
	return session.Token
}

func TestSessionDoesWhatItsKeyMay(t *testing.T) {
	t.Parallel()
	onBothEngines(t, func(t *testing.T, s *system) {
		reader := s.call(t, "POST", "/v2/apps", `{"name": "Reader", "scopes": ["read"]}`)
		token := s.session(t, reader.str(t, "key"))
		ask := func(method, address string, body any) int {
			return s.api.Do(browser(t), token, console.Request{Method: method, Address: address, Body: body}).Status
		}
		site := s.call(t, "POST", "/v2/sites", `{"name": "Shop"}`).str(t, "id")
		for _, c := range []struct {
			method, address string
			body            any
			want            int
		}{
			{"GET", "/v2/me", nil, 200},
			{"GET", "/v2/sites/" + site, nil, 200},
			{"GET", "/v2/sites?limitt=1", nil, 400},
			{"POST", "/v2/sites", map[string]any{"name": "Mine"}, 403},
			{"GET", "/v2/apps", nil, 403},
			{"GET", "/v2/nothing", nil, 404},
			{"GET", "https://elsewhere.example/", nil, 404},
		} {
			if got := ask(c.method, c.address, c.body); got != c.want {
				t.Errorf("%s %s: %d, want %d", c.method, c.address, got, c.want)
			}
		}
		id := reader.str(t, "id")
		s.call(t, "PATCH", "/v2/apps/"+id, `{"scopes": ["read", "write"]}`)
		if got := ask("POST", "/v2/sites", map[string]any{"name": "Mine"}); got != 201 {
			t.Errorf("with more scopes: %d", got)
		}
		audit := s.call(t, "GET", "/v2/audit?operation=createSite&appId="+id, "").json(t)["data"].([]any)
		if len(audit) != 1 {
			t.Errorf("the audit trail has %d entries", len(audit))
		}
		s.call(t, "DELETE", "/v2/apps/"+id, "")
		if got := ask("GET", "/v2/me", nil); got != 401 {
			t.Errorf("after the key is deleted: %d", got)
		}
	})
}

func TestSessionEndsWithItsKey(t *testing.T) {
	t.Parallel()
	onBothEngines(t, func(t *testing.T, s *system) {
		made := s.call(t, "POST", "/v2/apps", `{"name": "Editor"}`)
		token := s.session(t, made.str(t, "key"))
		rotated := s.call(t, "POST", "/v2/apps/"+made.str(t, "id")+"/rotate", `{"graceSeconds": 0}`)
		me := func(token string) int {
			return s.api.Do(browser(t), token, console.Request{Method: "GET", Address: "/v2/me"}).Status
		}
		if got := me(token); got != 401 {
			t.Errorf("after a rotation: %d", got)
		}
		first, second := s.session(t, rotated.str(t, "key")), s.session(t, rotated.str(t, "key"))
		list, _ := s.api.Sessions(browser(t), first)
		if len(list) != 2 || !list[1].IsCurrent || list[0].IsCurrent {
			t.Fatalf("%+v", list)
		}
		if got := s.api.EndSession(browser(t), first, list[0].ID).Status; got != 204 || me(second) != 401 || me(first) != 200 {
			t.Errorf("ended another: %d, %d, %d", got, me(second), me(first))
		}
		if got := s.api.EndSession(browser(t), first, "").Status; got != 204 || me(first) != 401 {
			t.Errorf("ended all: %d, %d", got, me(first))
		}
	})
}

func TestSessionIsNoKey(t *testing.T) {
	t.Parallel()
	store, err := sqlstore.OpenSQLite(t.TempDir(), nil)
	s := newSystem(t, store, err)
	token := s.session(t, s.key)
	if got := s.api.Do(browser(t), token, console.Request{Method: "GET", Address: "/v2/me"}).Status; got != 200 {
		t.Fatalf("the session: %d", got)
	}
	for _, headers := range [][]string{
		{"x-api-key", token}, {"authorization", "Bearer " + token}, {"cookie", "galley=" + token}, {"cookie", "__Host-galley=" + token},
	} {
		if got := s.send(t, "", "GET", "/v2/me", "", headers...).status; got != 401 {
			t.Errorf("%s: %d", headers[0], got)
		}
	}
	if _, answer := s.api.SignIn(browser(t), token); answer.Status != 401 {
		t.Errorf("signing in with a token: %d", answer.Status)
	}
}

func TestSessionsHaveABucketOfTheirOwn(t *testing.T) {
	t.Parallel()
	store, err := sqlstore.OpenSQLite(t.TempDir(), nil)
	s := newSystem(t, store, err, func(o *httpapi.Options) {
		o.Limits.App = ratelimit.Rate{Requests: 3, Period: time.Hour}
		o.Limits.Auth = ratelimit.Rate{Requests: 2, Period: time.Hour}
	})
	token := s.session(t, s.key)
	me := func() int {
		return s.api.Do(browser(t), token, console.Request{Method: "GET", Address: "/v2/me"}).Status
	}
	for range 3 {
		if got := me(); got != 200 {
			t.Errorf("within the rate: %d", got)
		}
	}
	if got := me(); got != 429 {
		t.Errorf("beyond the rate: %d", got)
	}
	if got := s.call(t, "GET", "/v2/me", "").status; got != 200 {
		t.Errorf("the key: %d", got)
	}
	for i, want := range []int{401, 401, 429} {
		_, answer := s.api.SignIn(browser(t), "sk_wrong")
		if answer.Status != want || (want == 429 && answer.Header.Get("Retry-After") == "") {
			t.Errorf("attempt %d: %d %v", i, answer.Status, answer.Header)
		}
	}
	if _, answer := s.api.Start(browser(t), strings.Repeat("x", 20)); answer.Status != 429 {
		t.Errorf("a link after that: %d", answer.Status)
	}
}
