package main_test

import (
	"fmt"
	"strings"
	"testing"

	"galley/internal/pgtest"
)

// titled is the title of a page, as a node tells it.
func (p *process) titled(t *testing.T, key, target string) string {
	t.Helper()
	return p.must(t, 200, key, "GET", target, "").field(t, "title")
}

const cacheHits = "galley_cache_hits_total"

func TestNodesBehindPgBouncerHearEachOther(t *testing.T) {
	t.Parallel()
	direct := pgtest.URL(t)
	through := pgtest.Bouncer(t)(direct)
	one := serve(t, nil, "--database-url", through, "--listen-url", direct)
	two := serve(t, []string{"GALLEY_LISTEN_URL=" + direct}, "--database-url", through)
	key := one.key(t)
	siteID, _ := one.newSite(t, key)
	target := "/v6/pages/" + one.must(t, 201, key, "POST", "/v6/pages", fmt.Sprintf(`{"siteId":%q,"pathname":"/","title":"0"}`, siteID)).field(t, "id")
	for n := range 10 {
		title := fmt.Sprint(n)
		one.must(t, 200, key, "PATCH", target, fmt.Sprintf(`{"title":%q}`, title))
		eventually(t, "the other node tells of the change", func() bool { return two.titled(t, key, target) == title })
	}
	eventually(t, "answers come from memory", func() bool {
		two.titled(t, key, target)
		hits := two.sample(t, key, cacheHits)
		return hits != "" && hits != "0"
	})
}

// Through PgBouncer no notification arrives: then answers are used for a second.
func TestNodesBehindPgBouncerFollowEachOther(t *testing.T) {
	t.Parallel()
	through := pgtest.Bouncer(t)(pgtest.URL(t))
	one := serve(t, nil, "--database-url", through)
	two := serve(t, nil, "--database-url", through)
	key := one.key(t)
	siteID, _ := one.newSite(t, key)
	target := "/v6/pages/" + one.must(t, 201, key, "POST", "/v6/pages", fmt.Sprintf(`{"siteId":%q,"pathname":"/","title":"0"}`, siteID)).field(t, "id")
	for n := range 5 {
		title := fmt.Sprint(n)
		one.must(t, 200, key, "PATCH", target, fmt.Sprintf(`{"title":%q}`, title))
		eventually(t, "the other node has the change", func() bool { return two.titled(t, key, target) == title })
	}
}

func TestListenURLIsChecked(t *testing.T) {
	t.Parallel()
	database := pgtest.URL(t)
	for _, args := range [][]string{{"--listen-url", database}, {"--database-url", database, "--listen-url", "nowhere"}} {
		if message := refused(t, 1, nil, append([]string{"serve", "--addr", "127.0.0.1:0"}, args...)...); !strings.Contains(message, "--listen-url") {
			t.Errorf("%v: %s", args, message)
		}
	}
}
