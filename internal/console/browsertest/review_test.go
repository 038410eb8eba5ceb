package browsertest

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// reviewed is a site with a draft of so many changes, published before.
func (s *server) reviewed() (site string, pages map[string]string) {
	s.t.Helper()
	site, pages = s.shop()
	s.must("POST", "/v2/sites/"+site+"/publish", `{"name": "Autumn range"}`)
	s.must("PATCH", "/v6/pages/"+pages["/about"], `{"title": "Title of us", "description": "Who we are"}`)
	s.must("PATCH", "/v6/pages/"+pages["/about"]+"?locale=fr", `{"title": "À propos"}`)
	s.must("PATCH", "/v6/pages/"+pages["/shop/tents"], `{"pathname": "/shop/shelters"}`)
	s.must("DELETE", "/v6/pages/"+pages["/shop/jackets/storm"], "")
	s.create("/v6/pages", `{"siteId": "`+site+`", "pathname": "/new", "title": "New page"}`)
	return site, pages
}

// publish clicks the button of a review.
func (b *tab) publish() {
	b.t.Helper()
	b.leave(func() { b.clickCSS("button[data-publish]") })
}

func TestReviewShowsWords(t *testing.T) {
	t.Parallel()
	s := serve(t)
	site, _ := s.reviewed()
	b := s.signedIn(t)
	b.open("/console/sites/" + site + "/review")
	b.wait("words differ", `[...document.querySelectorAll("article.card")].some((c) => c.ariaLabel === "/about" && c.querySelector("del").innerText === "/about" && c.querySelector("ins").innerText === "us")`)
	b.see("À propos")
	b.see("/shop/shelters")
	b.see("1 live address changes")
	b.see("1 redirect leads from the old ones.")
	total := eval[int](b, `Number(document.querySelector(".tally .big").innerText)`)
	list := s.must("GET", "/v2/sites/"+site+"/changes?limit=100", "")["data"].([]any)
	if kinds := eval[int](b, `[...document.querySelectorAll(".facets a .i")].slice(1).reduce((n, i) => n + Number(i.parentElement.querySelector(".n").innerText), 0)`); total != len(list) && total != len(list)+1 || kinds == 0 {
		t.Errorf("%d changes, by kind %d, REST has %d", total, kinds, len(list))
	}
	b.submit("fr")
	b.at("/console/sites/" + site + "/review?locale=fr")
	b.notSee("Who we are")
	b.see("À propos")
	b.back()
	b.see("Who we are")
	b.quiet()
}

func TestReviewIsBinding(t *testing.T) {
	t.Parallel()
	s := serve(t)
	site, pages := s.reviewed()
	b := s.signedIn(t)
	b.open("/console/sites/" + site + "/review")
	s.must("PATCH", "/v6/pages/"+pages["/shop"], `{"title": "Sneaked in"}`)
	b.publish()
	b.see("The draft has changed.")
	b.wait("what came since is marked", `document.querySelectorAll(".card.fresh").length === 1 && document.querySelector(".card.fresh").innerText.includes("Sneaked")`)
	if got := s.must("GET", "/v6/pages/"+pages["/shop"]+"?versionRef=ref:live", ""); got.text("title") != "Title of /shop" {
		t.Errorf("it was published: %v", got)
	}
	b.fill("Name", "Winter range")
	b.publish()
	b.see("Published")
	b.see("Live is what the draft says.")
	b.submit("Look at it")
	b.see("Winter range")
	if got := s.must("GET", "/v6/pages/"+pages["/shop"]+"?versionRef=ref:live", ""); got.text("title") != "Sneaked in" {
		t.Errorf("%v", got)
	}
	b.quiet()
}

func TestPublishSelectedPages(t *testing.T) {
	t.Parallel()
	s := serve(t)
	site, pages := s.reviewed()
	b := s.signedIn(t)
	b.open("/console/sites/" + site + "/review")
	b.click("Select /about")
	b.click("Select /new")
	b.submit("Publish 2 pages")
	b.see("Published")
	if got := s.must("GET", "/v6/pages/"+pages["/about"]+"?versionRef=ref:live", ""); got.text("title") != "Title of us" {
		t.Errorf("%v", got)
	}
	if got := s.must("GET", "/v6/pages/"+pages["/shop/tents"]+"?versionRef=ref:live", ""); got.text("pathname") != "/shop/tents" {
		t.Errorf("%v", got)
	}
	b.quiet()
}

func TestGuardIsTyped(t *testing.T) {
	t.Parallel()
	s := serve(t)
	site := s.create("/v2/sites", `{"name": "Shop"}`)
	var ids []string
	for i := range 20 {
		ids = append(ids, s.create("/v6/pages", fmt.Sprintf(`{"siteId": %q, "pathname": "/p%d"}`, site, i)))
	}
	s.must("POST", "/v2/sites/"+site+"/publish", "")
	for _, id := range ids[:12] {
		s.must("DELETE", "/v6/pages/"+id, "")
	}
	b := s.signedIn(t)
	b.open("/console/sites/" + site + "/review")
	b.see("12 live pages go away")
	b.wait("the button is disabled", found("button", "Publish 12 changes")+".disabled")
	b.fill("Type 12 to confirm", "12")
	b.submit("Publish 12 changes")
	b.see("Published 12 changes.")
	b.quiet()
}

func TestClashIsNamed(t *testing.T) {
	t.Parallel()
	s := serve(t)
	site, pages := s.shop()
	s.must("POST", "/v2/sites/"+site+"/publish", "")
	s.must("PATCH", "/v6/pages/"+pages["/about"], `{"pathname": "/moved"}`)
	other := s.create("/v6/pages", `{"siteId": "`+site+`", "pathname": "/about"}`)
	b := s.signedIn(t)
	b.open("/console/sites/" + site + "/review?pages=" + other)
	b.see("/about would belong to")
	b.wait("the button is disabled", found("button", "Publish 1 page")+".disabled")
	b.quiet()
}

func TestScheduleRunsWithoutReload(t *testing.T) {
	t.Parallel()
	s := serve(t)
	site, pages := s.reviewed()
	b := s.signedIn(t)
	b.open("/console/sites/" + site + "/review")
	b.click("At a time")
	b.setTime("Time", time.Now().Add(-time.Hour))
	b.publish()
	b.see("must be")
	b.focusIn("Time")
	b.setTime("Time", time.Now().Add(5*time.Second))
	b.publish()
	b.at("/console/sites/" + site + "/scheduled")
	b.see("Scheduled.")
	b.see("Nothing is scheduled.")
	if got := s.must("GET", "/v6/pages/"+pages["/about"]+"?versionRef=ref:live", ""); got.text("title") != "Title of us" {
		t.Errorf("%v", got)
	}
	b.quiet()
}

// setTime sets a field of a time, in the browser's zone.
func (b *tab) setTime(name string, at time.Time) {
	b.t.Helper()
	field := found(fields, name)
	b.wait("there is the field "+name, field)
	eval[bool](b, fmt.Sprintf(`(() => { const d = new Date(%d); const two = (n) => String(n).padStart(2, "0"); const e = %s;
		e.value = d.getFullYear() + "-" + two(d.getMonth() + 1) + "-" + two(d.getDate()) + "T" + two(d.getHours()) + ":" + two(d.getMinutes()) + ":" + two(d.getSeconds());
		e.dispatchEvent(new Event("input", {bubbles: true})); return e.value !== ""; })()`, at.UnixMilli(), field))
}

func TestScheduledPlanThatMovedFails(t *testing.T) {
	t.Parallel()
	s := serve(t)
	site, pages := s.reviewed()
	plan := s.must("GET", "/v2/sites/"+site+"/changes", "").text("plan")
	s.create("/v2/sites/"+site+"/publish", fmt.Sprintf(`{"name": "Launch", "plan": %q, "publishAt": %q}`, plan, time.Now().Add(4*time.Second).UTC().Format(time.RFC3339)))
	s.must("PATCH", "/v6/pages/"+pages["/shop"], `{"title": "After"}`)
	b := s.signedIn(t)
	b.open("/console/sites/" + site + "/scheduled")
	b.see("Launch")
	b.see("Failed")
	b.open("/console/sites/" + site + "/scheduled")
	b.wait("the nav says so", `document.querySelector(".nav .n.bad")?.innerText === "1"`)
	b.quiet()
}

func TestCancelSchedule(t *testing.T) {
	t.Parallel()
	s := serve(t)
	site, _ := s.reviewed()
	s.create("/v2/sites/"+site+"/publish", `{"name": "Launch", "publishAt": "2099-01-01T00:00:00.000Z"}`)
	b := s.signedIn(t)
	b.open("/console/scheduled")
	b.see("Launch")
	b.submit("Cancel Launch")
	b.see("Nothing is scheduled.")
	b.open("/console/sites/" + site + "/publishes")
	b.see("Canceled")
	b.quiet()
}

func TestRestoreAnOldPublish(t *testing.T) {
	t.Parallel()
	s := serve(t)
	site, pages := s.reviewed()
	s.must("POST", "/v2/sites/"+site+"/publish", `{"name": "Winter range"}`)
	s.must("PATCH", "/v6/pages/"+pages["/about"], `{"title": "Draft stays"}`)
	before := s.must("GET", "/v6/pages/"+pages["/about"], "").text("etag")
	b := s.signedIn(t)
	b.open("/console/sites/" + site + "/publishes")
	b.submit("Autumn range")
	b.submit("Go live with this again")
	b.focusIn("Cancel")
	b.wait("it shows what would differ", `[...document.querySelectorAll("article.card")].some((c) => c.ariaLabel === "/about" && c.querySelector("del").innerText === "us")`)
	b.submit("Go live with this again")
	b.see("It is live again.")
	if got := s.must("GET", "/v6/pages/"+pages["/about"]+"?versionRef=ref:live", ""); got.text("title") != "Title of /about" {
		t.Errorf("%v", got)
	}
	if got := s.must("GET", "/v6/pages/"+pages["/about"], ""); got.text("title") != "Draft stays" {
		t.Errorf("the draft has changed: %v, %s", got, before)
	}
	b.quiet()
}

func TestApprovalIsBoundToItsPlan(t *testing.T) {
	t.Parallel()
	s := serve(t)
	site, pages := s.reviewed()
	plan := s.must("GET", "/v2/sites/"+site+"/changes", "").text("plan")
	b := s.signedIn(t)
	b.open("/console/sites/" + site + "/review/" + plan)
	b.see("Nobody has edited since you opened this")
	s.must("PATCH", "/v6/pages/"+pages["/shop"], `{"title": "After"}`)
	b.open("/console/sites/" + site + "/review/" + plan)
	b.see("This plan is gone")
	cookie := s.post("/console/sign-in", "key="+s.key).Cookies()[0]
	if got := s.post("/console/sites/"+site+"/review/"+plan, "do=all", cookie).StatusCode; got != http.StatusConflict {
		t.Errorf("a form made by hand: %d", got)
	}
	reader, _ := s.app(`{"name": "Reader", "scopes": ["read"]}`)
	cookie = s.post("/console/sign-in", "key="+reader).Cookies()[0]
	if got := s.post("/console/sites/"+site+"/review", "do=all", cookie).StatusCode; got != http.StatusForbidden {
		t.Errorf("a form of a reader: %d", got)
	}
	r := s.signedIn(t, reader)
	r.open("/console/sites/" + site + "/review")
	r.see("Needs the scope publish")
	if !strings.Contains(r.text(), "Publish") {
		t.Error("the button is hidden")
	}
}

func TestWithoutScripts(t *testing.T) {
	t.Parallel()
	s := serve(t)
	_, pages := s.shop()
	b := s.tab(t)
	b.noScript(true)
	b.open("/console/sign-in")
	b.signIn(s.key)
	b.at("/console/sites")
	b.submit("Shop")
	b.submit("about")
	b.fill("Title", "Without scripts")
	b.submit("Save")
	b.see("Saved in the draft.")
	b.submit("Review")
	b.publish()
	b.see("Published")
	if got := s.must("GET", "/v6/pages/"+pages["/about"]+"?versionRef=ref:live", ""); got.text("title") != "Without scripts" {
		t.Errorf("%v", got)
	}
}
