package httpapi_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"galley/internal/cms"
	"galley/internal/httpapi"
	"galley/internal/pgtest"
	"galley/internal/service"
	"galley/internal/sqlstore"
)

// inAnHour schedules a publish and returns its id.
func (s *system) inAnHour(t *testing.T, siteID, fields string) string {
	t.Helper()
	at := time.Now().Add(time.Hour).UTC().Format("2006-01-02T15:04:05.000Z")
	return s.publish(t, siteID, `{"publishAt":"`+at+`"`+fields+`}`)
}

// runDue runs what is due after a while, and returns what was run.
func (s *system) runDue(t *testing.T, by time.Duration) []string {
	t.Helper()
	svc := service.New(s.store, func() time.Time { return clock().Add(by) }, httpapi.AuditState)
	ran := []string{}
	for range 10 {
		p, err := svc.RunDuePublish(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if p == nil {
			return ran
		}
		ran = append(ran, p.ID.String())
	}
	t.Fatalf("it does not end: %v", ran)
	return nil
}

func (s *system) publishFields(t *testing.T, id string, fields ...string) []any {
	t.Helper()
	publish := s.must(t, 200, "GET", "/v2/publishes/"+id, "").json(t)
	values := []any{}
	for _, field := range fields {
		values = append(values, publish[field])
	}
	return values
}

func TestScheduledPublishRunsOnceWhenItsTimeHasCome(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		p := newShop(t, s)
		p.edit(t, p.page, `{"title":"When scheduled"}`)
		id := p.inAnHour(t, p.site, `,"name":"Later","pageIds":["`+p.page+`"]`)
		checkEqual(t, "before", []any{"scheduled", "Later", nil, nil, 0.0}, p.publishFields(t, id, "status", "name", "publishedAt", "previousId", "changeCount"))
		checkEqual(t, "history", []any{id, p.released}, p.must(t, 200, "GET", "/v2/sites/"+p.site+"/publishes", "").column(t, "id"))
		checkEqual(t, "its changes", []string{}, p.published(t, id))
		checkEqual(t, "not yet due", []string{}, p.runDue(t, 59*time.Minute))
		// It publishes the draft as it is then, over what is live then.
		p.edit(t, p.page, `{"title":"When it ran"}`)
		p.edit(t, p.off, `{"title":"Meanwhile"}`)
		between := p.publish(t, p.site, `{"pageIds":["`+p.off+`"]}`)
		p.edit(t, p.off, `{"title":"Not selected"}`)
		checkEqual(t, "ran", []string{id}, p.runDue(t, 2*time.Hour))
		checkEqual(t, "and not again", []string{}, p.runDue(t, 2*time.Hour))
		checkEqual(t, "after", []any{"published", between, 1.0}, p.publishFields(t, id, "status", "previousId", "changeCount"))
		checkEqual(t, "published", []string{`en-US updated /a: title "A">"When it ran"`}, p.published(t, id))
		times := p.publishFields(t, id, "publishAt", "publishedAt")
		if times[1].(string) < times[0].(string) {
			t.Errorf("published at %s, before its time %s", times[1], times[0])
		}
		checkEqual(t, "live", "When it ran", p.must(t, 200, "GET", "/v6/pages/"+p.page+"?versionRef=publish:"+id, "").str(t, "title"))
		p.must(t, 409, "DELETE", "/v2/publishes/"+id, "")
		// With nothing to publish it has run, and made no version.
		idle := p.inAnHour(t, p.site, `,"pageIds":["`+p.page+`"]`)
		checkEqual(t, "ran", []string{idle}, p.runDue(t, 2*time.Hour))
		checkEqual(t, "idle", []any{"published", 0.0, id}, p.publishFields(t, idle, "status", "changeCount", "previousId"))
		// What was live after it is what was live before.
		p.edit(t, p.page, `{"title":"Later"}`)
		p.publish(t, p.site, "{}")
		for _, target := range []string{"/v6/pages/" + p.page + "?versionRef=publish:", "/v6/pages?siteId=" + p.site + "&versionRef=publish:"} {
			checkEqual(t, target, string(p.must(t, 200, "GET", target+id, "").body), string(p.must(t, 200, "GET", target+idle, "").body))
		}
		p.must(t, 201, "POST", "/v2/publishes/"+idle+"/restore", "")
		p.must(t, 200, "POST", "/v2/publishes/"+idle+"/restore", "")
		checkEqual(t, "restored", "When it ran", p.must(t, 200, "GET", "/v6/pages/"+p.page+"?versionRef=ref:live", "").str(t, "title"))
	})
}

// One that ran before anything was live left a version without pages, which can be
// read and restored as any other.
func TestScheduledPublishOfNothingYet(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		site, _ := s.newSite(t)
		none := s.inAnHour(t, site, "")
		checkEqual(t, "ran", []string{none}, s.runDue(t, 2*time.Hour))
		checkEqual(t, "it", []any{"published", 0.0, nil}, s.publishFields(t, none, "status", "changeCount", "previousId"))
		page := s.must(t, 201, "POST", "/v6/pages", `{"siteId":"`+site+`","pathname":"/a"}`).str(t, "id")
		s.publish(t, site, "{}")
		s.must(t, 404, "GET", "/v6/pages/"+page+"?versionRef=publish:"+none, "")
		s.must(t, 404, "GET", "/v6/pages/a?siteId="+site+"&versionRef=publish:"+none, "")
		checkEqual(t, "then", []any{}, s.must(t, 200, "GET", "/v6/pages?siteId="+site+"&versionRef=publish:"+none, "").column(t, "id"))
		checkEqual(t, "its changes", []string{}, s.published(t, none))
		s.must(t, 201, "POST", "/v2/publishes/"+none+"/restore", "")
		checkEqual(t, "live", []any{}, s.must(t, 200, "GET", "/v6/pages?siteId="+site+"&versionRef=ref:live", "").column(t, "id"))
		s.must(t, 200, "POST", "/v2/publishes/"+none+"/restore", "")
	})
}

// What goes live by a plan is what was reviewed, whenever that is.
func TestPlanGuardsAScheduledPublish(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		p, moved := newShop(t, s), newShop(t, s)
		scheduled := map[string]string{}
		for _, reviewed := range []*shop{p, moved} {
			reviewed.edit(t, reviewed.page, `{"title":"Reviewed"}`)
			scheduled[reviewed.site] = s.inAnHour(t, reviewed.site, `,"plan":"`+s.plan(t, reviewed.site)+`"`)
		}
		moved.edit(t, moved.off, `{"title":"Not reviewed"}`)
		checkEqual(t, "ran", 2, len(s.runDue(t, 2*time.Hour)))
		checkEqual(t, "as reviewed", []any{"published", 1.0, nil}, s.publishFields(t, scheduled[p.site], "status", "changeCount", "reason"))
		got := s.publishFields(t, scheduled[moved.site], "status", "reason")
		checkEqual(t, "moved on: "+got[1].(string), true, got[0] == "failed" && strings.Contains(got[1].(string), "since the plan was made"))
		checkEqual(t, "still to be published", 2, len(s.changes(t, moved.site)))
	})
}

func TestScheduledPublishIsCanceled(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		p := newShop(t, s)
		p.edit(t, p.page, `{"title":"B"}`)
		id := p.inAnHour(t, p.site, "")
		p.must(t, 204, "DELETE", "/v2/publishes/"+id, "")
		checkEqual(t, "status", []any{"canceled"}, p.publishFields(t, id, "status"))
		checkEqual(t, "ran", []string{}, p.runDue(t, 2*time.Hour))
		checkEqual(t, "history", []any{id, p.released}, p.must(t, 200, "GET", "/v2/sites/"+p.site+"/publishes", "").column(t, "id"))
		for _, other := range []string{id, p.released} {
			p.must(t, 409, "DELETE", "/v2/publishes/"+other, "")
		}
		p.must(t, 404, "DELETE", "/v2/publishes/"+p.page, "")
		p.must(t, 404, "GET", "/v6/pages?versionRef=publish:"+id+"&siteId="+p.site, "")
		checkEqual(t, "changes", 1, len(p.changes(t, p.site)))
	})
}

func TestScheduledPublishThatFailsSaysWhy(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		p := newShop(t, s)
		b := p.newPage(t, p.site, "/b")
		clash := p.inAnHour(t, p.site, `,"pageIds":["`+b+`"]`)
		p.edit(t, p.page, `{"pathname":"/elsewhere"}`)
		p.edit(t, b, `{"pathname":"/a"}`)
		many, _ := s.newSite(t)
		var ops []string
		for _, id := range manyPages(t, s, many, 10) {
			ops = append(ops, fmt.Sprintf(`{"op":"delete","pageId":%q}`, id))
		}
		s.batch(t, many, ops)
		guarded, confirmed := s.inAnHour(t, many, ""), s.inAnHour(t, many, `,"confirm":true`)
		checkEqual(t, "ran", 3, len(p.runDue(t, 2*time.Hour)))
		checkEqual(t, "and not again", []string{}, p.runDue(t, 3*time.Hour))
		for id, word := range map[string]string{clash: p.page, guarded: "confirm: true"} {
			got := p.publishFields(t, id, "status", "publishedAt", "reason")
			checkEqual(t, "failed", []any{"failed", nil}, got[:2])
			checkEqual(t, "reason "+got[2].(string), true, strings.Contains(got[2].(string), word))
			p.must(t, 409, "DELETE", "/v2/publishes/"+id, "")
		}
		checkEqual(t, "confirmed", []any{"published", nil}, p.publishFields(t, confirmed, "status", "reason"))
		checkEqual(t, "live", "A", p.must(t, 200, "GET", "/v6/pages/a?versionRef=ref:live&siteId="+p.site, "").str(t, "title"))
	})
}

func TestScheduledPublishOfASiteThatIsDeleted(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		p := newShop(t, s)
		p.edit(t, p.page, `{"title":"B"}`)
		id := p.inAnHour(t, p.site, "")
		p.must(t, 204, "DELETE", "/v2/sites/"+p.site, "")
		checkEqual(t, "ran", 1, len(p.runDue(t, 2*time.Hour)))
		p.must(t, 200, "POST", "/v2/sites/"+p.site+"/restore", "")
		checkEqual(t, "publish", []any{"failed", "The site was deleted when this publish was due"}, p.publishFields(t, id, "status", "reason"))
	})
}

// A locale that a publish names is the same one when its time comes, whatever
// the default locale has become.
// Nobody is told that something went live which has been hidden meanwhile.
func TestScheduledPublishOfALocaleThatIsDeleted(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		p := newShop(t, s)
		locale := p.must(t, 201, "POST", "/v2/locales", `{"siteId":"`+p.site+`","locale":"it"}`).str(t, "id")
		p.must(t, 200, "PATCH", "/v6/pages/"+p.page+"?locale=it", `{"title":"Titolo"}`)
		id := p.inAnHour(t, p.site, `,"locales":["it"]`)
		p.must(t, 204, "DELETE", "/v2/locales/"+locale, "")
		checkEqual(t, "ran", []string{id}, p.runDue(t, 2*time.Hour))
		checkEqual(t, "it", []any{"failed", "Locale not found"}, p.publishFields(t, id, "status", "reason"))
	})
}

func TestScheduledPublishOfALocaleThatBecomesTheDefault(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		for _, c := range []struct{ locale, want string }{{"fr", `fr updated /a: title "Fr">"Gr"`}, {"en-US", `en-US updated /a: title "A">"B"`}} {
			p := newShop(t, s)
			p.edit(t, p.page, `{"title":"B"}`)
			p.localize(t, p.page, "fr", `{"title":"Gr"}`)
			id := p.inAnHour(t, p.site, `,"locales":["`+c.locale+`"]`)
			p.must(t, 200, "PATCH", "/v2/sites/"+p.site, `{"defaultLocale":"fr"}`)
			checkEqual(t, "ran", []string{id}, p.runDue(t, 2*time.Hour))
			checkEqual(t, c.locale, []string{c.want}, p.published(t, id))
		}
	})
}

func TestPageIsPublishedAlone(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		p := newShop(t, s)
		p.edit(t, p.page, `{"title":"B"}`)
		p.localize(t, p.page, "fr", `{"title":"Gr"}`)
		p.edit(t, p.off, `{"title":"Off"}`)
		r := p.must(t, 201, "POST", "/v6/pages/"+p.page+"/publish", "")
		id := r.str(t, "id")
		checkEqual(t, "Location", "/v2/publishes/"+id, r.header.Get("Location"))
		checkEqual(t, "published", []string{`en-US updated /a: title "A">"B"`, `fr updated /a: title "Fr">"Gr"`}, p.published(t, id))
		checkEqual(t, "left", []string{`en-US updated /off: title null>"Off"`}, p.changes(t, p.site))
		p.remove(t, p.page)
		p.must(t, 201, "POST", "/v6/pages/"+p.page+"/publish", "")
		p.must(t, 404, "GET", "/v6/pages/"+p.page+"?versionRef=ref:live", "")
		for _, id := range []string{p.page, p.site, cms.NewID().String()} {
			checkEqual(t, "page that is in neither version", "Page not found", p.must(t, 404, "POST", "/v6/pages/"+id+"/publish", "").str(t, "message"))
		}
	})
}

func TestDiscardTakesADraftBackToLive(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		for name, edit := range map[string]func(t *testing.T, p *shop){
			"edited":    patches("", `{"pathname":"/b","title":null,"isOnline":false,"name":"Given"}`, "de", `{"pathname":"/d"}`),
			"localized": patches("fr", `{"title":"Gr","pathname":"/g"}`),
			"deleted":   func(t *testing.T, p *shop) { p.remove(t, p.page) },
			"edited and deleted": func(t *testing.T, p *shop) {
				patches("", `{"pathname":"/b"}`, "fr", `{"title":null}`)(t, p)
				p.remove(t, p.page)
			},
			"left alone": func(*testing.T, *shop) {},
		} {
			t.Run(name, func(t *testing.T) {
				p := newShop(t, s)
				draft := p.seen(t, p.site, "ref:draft", []string{p.page, p.off}, "en-US", "fr", "de")
				edit(t, p)
				r := p.must(t, 200, "POST", "/v6/pages/"+p.page+"/discard", "")
				checkEqual(t, "answer", string(p.must(t, 200, "GET", "/v6/pages/"+p.page, "").body), string(r.body))
				checkEqual(t, "changes", []string{}, p.changes(t, p.site))
				checkEqual(t, "draft", draft, p.again(t, "ref:draft", draft))
				checkEqual(t, "live", without(draft, statusField), p.again(t, "ref:live", draft))
				p.newPage(t, p.site, "/b") // what the draft had is free again
			})
		}
	})
}

func TestDiscardOfAPageThatIsNotLive(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		p := newShop(t, s)
		id := p.newPage(t, p.site, "/new")
		r := p.must(t, 204, "POST", "/v6/pages/"+id+"/discard", "")
		checkEqual(t, "body", "", string(r.body))
		p.must(t, 404, "GET", "/v6/pages/"+id, "")
		p.must(t, 404, "POST", "/v6/pages/"+id+"/discard", "")
		checkEqual(t, "changes", []string{}, p.changes(t, p.site))
		p.newPage(t, p.site, "/new")
		p.must(t, 200, "GET", "/v6/pages/"+p.page, "")
	})
}

func TestDiscardWhosePathnameIsTaken(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		p := newShop(t, s)
		p.localize(t, p.page, "fr", `{"pathname":"/x"}`)
		p.publish(t, p.site, "")
		p.edit(t, p.page, `{"pathname":"/b"}`)
		taker := p.newPage(t, p.site, "/a")
		refused := func() {
			t.Helper()
			before := p.seen(t, p.site, "ref:draft", []string{p.page}, "en-US", "fr")
			r := p.must(t, 409, "POST", "/v6/pages/"+p.page+"/discard", "")
			checkEqual(t, "message", "A page or route with this pathname already exists", r.str(t, "message"))
			checkEqual(t, "draft", before, p.again(t, "ref:draft", before))
		}
		refused()
		p.remove(t, p.page)
		refused()
		p.localize(t, taker, "fr", `{"pathname":"/x"}`)
		p.edit(t, taker, `{"pathname":"/free"}`)
		refused() // in fr
		p.remove(t, taker)
		p.must(t, 200, "POST", "/v6/pages/"+p.page+"/discard", "")
	})
}

// On PostgreSQL, a site that somebody else writes to for long holds up its own
// scheduled publishes, and none of another site.
func TestADuePublishThatWaitsForItsSiteHoldsUpNoOther(t *testing.T) {
	url := pgtest.URL(t)
	store, err := sqlstore.OpenPostgres(url, nil)
	s := newSystem(t, store, err)
	busy, _ := s.newSite(t)
	free, _ := s.newSite(t)
	s.newPage(t, busy, "/a")
	s.newPage(t, free, "/a")
	first, second := s.inAnHour(t, busy, ""), s.inAnHour(t, free, "")

	held, end := make(chan struct{}, 2), make(chan struct{})
	release := sync.OnceFunc(func() { close(end) })
	defer release()
	var all sync.WaitGroup
	for range 2 { // one has the site, and one waits for it in the database
		all.Go(func() {
			err := store.InTx(t.Context(), func(tx cms.Tx) error {
				_, err := tx.LockSite(t.Context(), uuid.MustParse(busy), cms.LockExclusive)
				if err == nil {
					held <- struct{}{}
					<-end
				}
				return err
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	<-held
	database, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = database.Close(context.Background()) }()
	eventually(t, "one waits for the site", func() (waits bool) {
		err := database.QueryRow(t.Context(), `select count(*) > 0 from pg_stat_activity
			where datname = current_database() and wait_event_type = 'Lock'`).Scan(&waits)
		return waits && err == nil
	})
	svc := service.New(store, func() time.Time { return clock().Add(2 * time.Hour) }, httpapi.AuditState)
	for range 2 { // as a node's jobs do
		all.Go(func() {
			if p, err := svc.RunDuePublish(t.Context()); p == nil || err != nil {
				t.Errorf("ran %v, %v", p, err)
			}
		})
	}
	eventually(t, "the other site's publish has run", func() bool { return s.publishFields(t, second, "status")[0] == "published" })
	checkEqual(t, "the busy site's", "scheduled", s.publishFields(t, first, "status")[0])
	if p, err := svc.RunDuePublish(t.Context()); p != nil || err != nil {
		t.Errorf("one that waits is taken again: %v, %v", p, err)
	}
	release()
	all.Wait()
	checkEqual(t, "in the end", "published", s.publishFields(t, first, "status")[0])
}
