package main_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"galley/internal/pgtest"
)

// draft is a site with a page that is not live yet.
type draft struct {
	key, site, page string
}

func newDraft(t *testing.T, server *process, key string) draft {
	t.Helper()
	d := draft{key: key}
	d.site, _ = server.newSite(t, key)
	d.page = server.must(t, 201, key, "POST", "/v6/pages", fmt.Sprintf(`{"siteId":%q,"pathname":"/a"}`, d.site)).field(t, "id")
	return d
}

// schedule asks for a publish after a while, and returns its id and time. On a
// busy machine that may be over when the request comes to its turn.
func (d draft) schedule(t *testing.T, server *process, after time.Duration, pages ...string) (id string, at time.Time) {
	t.Helper()
	for ; ; after *= 2 {
		at = time.Now().Add(after)
		body := fmt.Sprintf(`{"publishAt":%q}`, at.UTC().Format(time.RFC3339Nano))
		if len(pages) > 0 {
			body = fmt.Sprintf(`{"pageIds":[%q],%s`, pages[0], body[1:])
		}
		r := server.send(t, d.key, "POST", "/v2/sites/"+d.site+"/publish", body)
		if r.status == 201 {
			return r.field(t, "id"), at
		}
		if after > time.Minute {
			t.Fatalf("%s: %d %s", body, r.status, r.body)
		}
	}
}

func (d draft) status(t *testing.T, server *process, id string) string {
	t.Helper()
	return server.must(t, 200, d.key, "GET", "/v2/publishes/"+id, "").field(t, "status")
}

func (d draft) isLive(t *testing.T, server *process) bool {
	t.Helper()
	return server.send(t, d.key, "GET", "/v6/pages/"+d.page+"?versionRef=ref:live", "").status == 200
}

// runs is how many scheduled publishes a node says it ran, by what became of
// them.
func runs(t *testing.T, server *process, key, status string) int {
	t.Helper()
	name := fmt.Sprintf(`galley_scheduled_publishes_total{status=%q} `, status)
	for line := range strings.Lines(server.must(t, 200, key, "GET", "/metrics", "").body) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			n, err := strconv.Atoi(strings.TrimSpace(rest))
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	return 0
}

// logged are the lines of a node's log about a publish.
func (p *process) logged(t *testing.T, publishID string) []map[string]any {
	t.Helper()
	var lines []map[string]any
	for _, line := range p.logLines(t) {
		if line["publish"] == publishID {
			lines = append(lines, line)
		}
	}
	return lines
}

func TestTwoNodesRunAScheduledPublishOnce(t *testing.T) {
	t.Parallel()
	database := pgtest.URL(t)
	first := serve(t, nil, "--database-url", database)
	key := first.key(t)
	second := serve(t, nil, "--database-url", database)
	d := newDraft(t, first, key)
	id, at := d.schedule(t, first, 2*time.Second)
	if status, live := d.status(t, second, id), d.isLive(t, second); time.Now().Before(at) && (status != "scheduled" || live) {
		t.Fatalf("it is %s before its time", status)
	}
	eventually(t, "the publish ran", func() bool { return d.status(t, second, id) == "published" })
	r := second.must(t, 200, key, "GET", "/v2/publishes/"+id, "")
	if due, ran := r.field(t, "publishAt"), r.field(t, "publishedAt"); ran < due {
		t.Errorf("due at %s, ran at %s", due, ran)
	}
	ran := func() int { return runs(t, first, key, "published") + runs(t, second, key, "published") }
	logged := func() int { return len(first.logged(t, id)) + len(second.logged(t, id)) }
	eventually(t, "it is counted and logged", func() bool { return ran() > 0 && logged() > 0 })
	time.Sleep(2500 * time.Millisecond) // both nodes look again, twice
	if n, lines := ran(), logged(); n != 1 || lines != 1 {
		t.Errorf("it ran %d times, and was logged %d times", n, lines)
	}
	var history struct{ Data []struct{ ID string } }
	r = second.must(t, 200, key, "GET", "/v2/sites/"+d.site+"/publishes", "")
	if err := json.Unmarshal([]byte(r.body), &history); err != nil || len(history.Data) != 1 || history.Data[0].ID != id {
		t.Errorf("history %s: %v", r.body, err)
	}
	if !d.isLive(t, first) || !d.isLive(t, second) {
		t.Error("the page is not live")
	}
}

func TestScheduledPublishOfAServerThatWasDownRunsLate(t *testing.T) {
	t.Parallel()
	onBothEngines(t, func(t *testing.T, store ...string) {
		server := serve(t, nil, store...)
		d := newDraft(t, server, server.key(t))
		id, at := d.schedule(t, server, time.Second)
		server.kill()
		time.Sleep(time.Until(at) + 200*time.Millisecond)
		again := serve(t, nil, store...)
		eventually(t, "the publish ran", func() bool { return d.status(t, again, id) == "published" })
		r := again.must(t, 200, d.key, "GET", "/v2/publishes/"+id, "")
		if due, ran := r.field(t, "publishAt"), r.field(t, "publishedAt"); ran <= due {
			t.Errorf("due at %s, ran at %s", due, ran)
		}
		if !d.isLive(t, again) {
			t.Error("the page is not live")
		}
	})
}

func TestScheduledPublishThatFailsIsToldAbout(t *testing.T) {
	t.Parallel()
	onBothEngines(t, func(t *testing.T, store ...string) {
		server := serve(t, nil, store...)
		d := newDraft(t, server, server.key(t))
		server.must(t, 201, d.key, "POST", "/v2/sites/"+d.site+"/publish", "{}")
		// Another page wants the pathname that the first one still has live.
		server.must(t, 200, d.key, "PATCH", "/v6/pages/"+d.page, `{"pathname":"/b"}`)
		other := server.must(t, 201, d.key, "POST", "/v6/pages", fmt.Sprintf(`{"siteId":%q,"pathname":"/a"}`, d.site)).field(t, "id")
		id, _ := d.schedule(t, server, time.Second, other)
		eventually(t, "the publish failed", func() bool { return d.status(t, server, id) == "failed" })
		reason := server.must(t, 200, d.key, "GET", "/v2/publishes/"+id, "").field(t, "reason")
		if !strings.Contains(reason, d.page) || !strings.Contains(reason, other) {
			t.Errorf("the reason does not name the pages: %s", reason)
		}
		eventually(t, "the failure is counted", func() bool { return runs(t, server, d.key, "failed") == 1 })
		eventually(t, "the failure is logged", func() bool { return len(server.logged(t, id)) == 1 })
		line := server.logged(t, id)[0]
		if line["level"] != "ERROR" || line["reason"] != reason {
			t.Errorf("logged %v", line)
		}
		time.Sleep(1500 * time.Millisecond) // it is not tried again
		if n := runs(t, server, d.key, "failed"); n != 1 {
			t.Errorf("it failed %d times", n)
		}
	})
}

func TestCanceledPublishDoesNotRun(t *testing.T) {
	t.Parallel()
	server := serve(t, nil)
	key := server.key(t)
	var d draft
	var id string
	var at time.Time
	for after, canceled := 2*time.Second, false; !canceled; after *= 2 { // on a busy machine, it may run first
		if after > time.Minute {
			t.Fatal("it can't be canceled")
		}
		d = newDraft(t, server, key)
		id, at = d.schedule(t, server, after)
		canceled = server.send(t, key, "DELETE", "/v2/publishes/"+id, "").status == 204
	}
	time.Sleep(time.Until(at) + 1500*time.Millisecond)
	if status := d.status(t, server, id); status != "canceled" || d.isLive(t, server) {
		t.Errorf("it is %s", status)
	}
}
