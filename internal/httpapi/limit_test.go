package httpapi_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"galley/internal/httpapi"
	"galley/internal/ratelimit"
	"galley/internal/sqlstore"
)

func limited(t *testing.T, requests int) *system {
	t.Helper()
	store, err := sqlstore.OpenSQLite(t.TempDir(), nil)
	return newSystem(t, store, err, func(o *httpapi.Options) { o.Limits.App = ratelimit.Rate{Requests: requests, Period: time.Hour} })
}

func remaining(r reply) string { return r.header.Get("X-RateLimit-Remaining") }

// A hundred rows are a request.
func TestBigWorkCountsByItsRows(t *testing.T) {
	s := limited(t, 100)
	site, _ := s.newSite(t) // 99 are left
	operations := make([]string, 250)
	for i := range operations {
		operations[i] = fmt.Sprintf(`{"op":"create","pathname":"/%d"}`, i)
	}
	batch := `{"siteId":"` + site + `","operations":[` + strings.Join(operations, ",") + `]}`
	checkEqual(t, "before", "98", remaining(s.must(t, 200, "POST", "/v6/pages/batch", batch, idempotencyKey, "k")))
	checkEqual(t, "after a batch of 250", "95", remaining(s.must(t, 200, "POST", "/v6/pages/batch", batch, idempotencyKey, "k")))
	checkEqual(t, "after its replay", "94", remaining(s.must(t, 201, "POST", "/v2/sites/"+site+"/publish", `{}`)))
	checkEqual(t, "after a publish of 250", "91", remaining(s.must(t, 200, "GET", "/v2/workspace", "")))
	s.must(t, 201, "POST", "/v2/sites/"+site+"/duplicate", `{"name":"Copy"}`)
	if left := remaining(s.must(t, 200, "GET", "/v2/workspace", "")); left > "83" {
		t.Errorf("after a copy of 250 pages, draft and live: %s are left", left)
	}
}

func TestAppsShareTheRateOfTheirMaker(t *testing.T) {
	s := limited(t, 100)
	_, child := s.newApp(t, `{"name":"Child"}`)
	grandchild := s.mustAs(t, child, 201, "POST", "/v2/apps", `{"name":"Grandchild"}`)
	checkEqual(t, "the grandchild's", "97", remaining(s.mustAs(t, grandchild.str(t, "key"), 200, "GET", "/v2/workspace", "")))
	checkEqual(t, "the maker's", "96", remaining(s.must(t, 200, "GET", "/v2/workspace", "")))
}
