package browsertest

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// live is a site with French, and n live pages /p0, /p1 and on.
func (s *server) live(n int, site string) (id string, pages []string) {
	s.t.Helper()
	id = s.create("/v2/sites", `{"name": "Shop", "hostOrigin": "https://www.fjell.example"`+site+`}`)
	s.create("/v2/locales", `{"siteId": "`+id+`", "locale": "fr"}`)
	var operations []string
	for i := range n {
		operations = append(operations, fmt.Sprintf(`{"op": "create", "pathname": "/p%d", "title": "Page %d"}`, i, i))
	}
	made := s.must("POST", "/v6/pages/batch", `{"siteId": "`+id+`", "operations": [`+strings.Join(operations, ",")+`]}`)
	for _, result := range made["results"].([]any) {
		pages = append(pages, object(result.(map[string]any)).text("id"))
	}
	s.must("POST", "/v2/sites/"+id+"/publish", `{"name": "First"}`)
	return id, pages
}

func (s *server) edit(page, query, body string) {
	s.t.Helper()
	s.must("PATCH", "/v6/pages/"+page+query, body)
}

// total is how many changes there are to publish.
func (s *server) total(site string) float64 {
	s.t.Helper()
	summary, _ := s.must("GET", "/v2/sites/"+site+"/changes?limit=1", "")["summary"].(map[string]any)
	n, _ := summary["total"].(float64)
	return n
}

// facets are the counts beside the filters whose text matches.
const facetCounts = `[...document.querySelectorAll(".facets a")].map((a) => a.innerText.replace(/\s+/g, " ").trim())`

func TestReviewListsWhatDiffers(t *testing.T) {
	t.Parallel()
	s := serve(t)
	site, pages := s.live(30, `, "autoRedirects": false`)
	s.edit(pages[0], "", `{"title": "Storm Shell Jacket", "description": "Three layers, 410 g."}`)
	for i := 1; i < 12; i++ {
		s.edit(pages[i], "", fmt.Sprintf(`{"title": "Page %d, edited"}`, i))
	}
	for i := range 21 {
		s.edit(pages[i], "?locale=fr", fmt.Sprintf(`{"title": "La page %d"}`, i))
	}
	for i := range 6 {
		s.create("/v6/pages", fmt.Sprintf(`{"siteId": %q, "pathname": "/new/%d"}`, site, i))
	}
	for i := 21; i < 24; i++ {
		s.edit(pages[i], "", fmt.Sprintf(`{"pathname": "/moved/%d"}`, i))
	}
	for i := 24; i < 27; i++ {
		s.must("DELETE", "/v6/pages/"+pages[i], "")
	}
	s.edit(pages[27], "", `{"isOnline": false}`)
	s.edit(pages[28], "", `{"isOnline": false}`)
	b := s.signedIn(t)
	b.open("/console/sites/" + site + "/review")
	b.see("47")
	b.has("Publish 47 changes")
	b.see("changes on 35 pages in 2 of 2 locales")
	b.wait("the words that differ are marked", `(() => {
		const card = [...document.querySelectorAll(".card")].find((c) => c.getAttribute("aria-label") === "/p0");
		const dd = card.querySelector("dd");
		return dd.querySelector("del").innerText === "Page 0" && dd.querySelector("ins").innerText === "Storm Shell Jacket" && card.innerText.includes("La page 0");
	})()`)
	b.wait("one word is marked", `[...document.querySelectorAll(".card")].find((c) => c.getAttribute("aria-label") === "/p1").querySelector("dd ins").innerText === ", edited"`)
	got := strings.Join(eval[[]string](b, facetCounts), "; ")
	for _, want := range []string{"All 47", "Edited 33", "New 6", "Moved 3", "Deleted 3", "Taken offline 2", "fr French 21", "en-US American English 26", "/new 6", "/moved 3"} {
		if !strings.Contains(got, want) {
			t.Errorf("the filters are %s, want %s", got, want)
		}
	}
	b.submit("fr French")
	b.at("/console/sites/" + site + "/review?locale=fr")
	b.wait("only French is shown", `[...document.querySelectorAll(".loc > .code")].length === 21 && [...document.querySelectorAll(".loc > .code")].every((c) => c.innerText === "fr")`)
	b.submit("Edited")
	b.at("/console/sites/" + site + "/review?kind=updated&locale=fr")
	b.back()
	b.at("/console/sites/" + site + "/review?locale=fr")
	b.back()
	b.at("/console/sites/" + site + "/review")
	b.submit("/moved")
	b.wait("only moves are shown", `document.querySelectorAll(".card").length === 3 && document.querySelector(".card del").innerText === "/p21"`)
	b.submit("Side by side")
	b.wait("old and new are beside each other", `document.querySelector(".diff .two .old").innerText === "/p21"`)
	resp := s.get("/console/sites/"+site+"/review/redirects.csv", s.post("/console/sign-in", "key="+s.key).Cookies()[0])
	if media := resp.Header.Get("Content-Type"); media != "text/csv; charset=utf-8" || resp.StatusCode != http.StatusOK {
		t.Errorf("the redirects are %d, %s", resp.StatusCode, media)
	}
	b.quiet()
}

func TestPublishReviewed(t *testing.T) {
	t.Parallel()
	s := serve(t)
	site, pages := s.live(5, "")
	s.edit(pages[0], "", `{"title": "Edited"}`)
	s.edit(pages[1], "", `{"pathname": "/moved"}`)
	b := s.signedIn(t)
	b.open("/console/sites/" + site + "/review")
	b.see("The old ones redirect to the new ones.")
	b.fill("Name", "Winter range")
	b.submit("Publish 3 changes")
	b.see("3 changes are live.")
	b.see("Live is what the draft says.")
	if got := s.must("GET", "/v6/pages/"+pages[0]+"?versionRef=ref:live", ""); got.text("title") != "Edited" {
		t.Errorf("live: %v", got)
	}
	b.submit("See the publish")
	b.see("Winter range")
	b.see("Edited")
	b.quiet()
}

func TestDraftThatMovedOnIsNotPublished(t *testing.T) {
	t.Parallel()
	s := serve(t)
	site, pages := s.live(5, "")
	s.edit(pages[0], "", `{"title": "Reviewed"}`)
	b := s.signedIn(t)
	b.noScript(true) // so that the review does not say it first
	b.open("/console/sites/" + site + "/review")
	s.edit(pages[1], "", `{"title": "Came later"}`)
	b.submit("Publish 1 change")
	b.see("The draft has changed.")
	b.see("Nothing was published.")
	b.wait("what came since is marked", `document.querySelectorAll(".new-since").length === 1 && document.querySelector(".new-since").getAttribute("aria-label") === "/p1"`)
	if got := s.total(site); got != 2 {
		t.Errorf("%v changes are left", got)
	}
	if got := s.must("GET", "/v6/pages/"+pages[0]+"?versionRef=ref:live", ""); got.text("title") != "Page 0" {
		t.Errorf("live: %v", got)
	}
}

func TestReviewSaysThatItIsOld(t *testing.T) {
	t.Parallel()
	s := serve(t)
	site, pages := s.live(5, "")
	s.edit(pages[0], "", `{"title": "Reviewed"}`)
	b := s.signedIn(t)
	b.open("/console/sites/" + site + "/review")
	b.notSee("The draft has changed.")
	s.edit(pages[1], "", `{"title": "Came later"}`)
	b.see("The draft has changed.")
	b.submit("Review again")
	b.wait("what came since is marked", `document.querySelector(".new-since")?.getAttribute("aria-label") === "/p1"`)
	b.has("Publish 2 changes")
	b.quiet()
}

func TestPublishSelected(t *testing.T) {
	t.Parallel()
	s := serve(t)
	site, pages := s.live(5, "")
	for i := range 4 {
		s.edit(pages[i], "", `{"title": "Edited"}`)
	}
	b := s.signedIn(t)
	b.open("/console/sites/" + site + "/review")
	b.click("Select /p1")
	b.has("Publish 1 page")
	b.click("Select /p2")
	b.submit("Publish 2 pages")
	b.see("2 changes are live.")
	b.has("Publish 2 changes")
	for i, want := range []string{"Page 0", "Edited", "Edited", "Page 3"} {
		if got := s.must("GET", "/v6/pages/"+pages[i]+"?versionRef=ref:live", ""); got.text("title") != want {
			t.Errorf("/p%d is %q, want %q", i, got.text("title"), want)
		}
	}
	b.open("/console/sites/" + site + "/review?pages=" + pages[0])
	b.see("This is a part of the draft.")
	b.submit("Publish 1 page")
	b.see("1 change is live.")
	if got := s.total(site); got != 1 {
		t.Errorf("%v changes are left", got)
	}
	b.quiet()
}

func TestGuardWantsTheNumber(t *testing.T) {
	t.Parallel()
	s := serve(t)
	site, pages := s.live(100, "")
	for i := range 60 {
		s.must("DELETE", "/v6/pages/"+pages[i], "")
	}
	b := s.signedIn(t)
	b.open("/console/sites/" + site + "/review")
	b.see("60 of 100 live pages go away")
	main := `document.querySelector("[data-main]")`
	b.wait("the button waits", main+".disabled")
	b.fill("Type 60 to confirm", "59")
	b.wait("the button waits", main+".disabled")
	cookie := s.post("/console/sign-in", "key="+s.key).Cookies()[0]
	plan := eval[string](b, `document.querySelector("#publish [name=plan]").value`)
	if got := s.post("/console/sites/"+site+"/review", "do=publish&guard=60&typed=59&plan="+plan, cookie).StatusCode; got != http.StatusConflict {
		t.Errorf("the wrong number: %d", got)
	}
	b.fill("Type 60 to confirm", "60")
	b.wait("the button is ready", "!"+main+".disabled")
	b.submit("Publish 60 changes")
	b.see("60 changes are live.")
	b.quiet()
}

func TestClashesAreNamed(t *testing.T) {
	t.Parallel()
	s := serve(t)
	site, pages := s.live(3, "")
	// The pathname of a page that is deleted in the draft is taken by another, which is
	// published alone.
	s.must("DELETE", "/v6/pages/"+pages[0], "")
	s.edit(pages[1], "", `{"pathname": "/p0", "name": "The other"}`)
	b := s.signedIn(t)
	b.open("/console/sites/" + site + "/review?pages=" + pages[1])
	b.see("/p0 would belong to two pages in en-US")
	b.see("The other")
	b.see("Page 0")
	b.wait("it can't be published", `document.querySelector(".go-bar button").disabled`)
	b.see("Two pages can't have one pathname.")
	b.quiet()
}

func TestApprovalIsBoundToItsPlan(t *testing.T) {
	t.Parallel()
	s := serve(t)
	site, pages := s.live(5, "")
	s.edit(pages[0], "", `{"title": "Approved"}`)
	b := s.signedIn(t)
	b.open("/console/sites/" + site + "/review")
	link := eval[string](b, found("a", "Copy link for approval")+".href")
	b.open(link)
	b.see("This is what was sent for approval.")
	s.edit(pages[1], "", `{"title": "Not approved"}`)
	b.open(link)
	b.see("This plan is gone.")
	b.wait("what came since is marked", `document.querySelector(".new-since")?.getAttribute("aria-label") === "/p1"`)
	b.wait("it can't be published", `document.querySelector(".go-bar button").disabled`)
	s.must("POST", "/v6/pages/"+pages[1]+"/discard", "")
	b.open(link)
	b.submit("Publish 1 change")
	b.see("1 change is live.")
	b.quiet()
}

// later fills in the form for a publish in a while.
func (b *tab) later(in time.Duration) {
	b.t.Helper()
	b.click("At a time…")
	eval[bool](b, fmt.Sprintf(`(() => {
		const at = new Date(Date.now() + %d), field = document.getElementById("f-at"), two = (n) => String(n).padStart(2, "0");
		field.value = at.getFullYear() + "-" + two(at.getMonth() + 1) + "-" + two(at.getDate()) + "T" + two(at.getHours()) + ":" + two(at.getMinutes()) + ":" + two(at.getSeconds());
		field.dispatchEvent(new Event("input", {bubbles: true}));
		return true;
	})()`, in.Milliseconds()))
}

func TestScheduleRunsWhileLooking(t *testing.T) {
	t.Parallel()
	s := serve(t)
	site, pages := s.live(5, "")
	s.edit(pages[0], "", `{"title": "Scheduled"}`)
	b := s.signedIn(t)
	b.open("/console/sites/" + site + "/review")
	b.later(-time.Hour)
	b.submit("Schedule 1 change")
	b.see("must be in the future")
	b.wait("the field says so", `document.querySelector("#f-at").getAttribute("aria-invalid") === "true"`)
	b.fill("Name", "On time")
	b.later(4 * time.Second)
	b.submit("Schedule 1 change")
	b.at("/console/sites/" + site + "/scheduled")
	eval[bool](b, "window.isOld = true")
	b.wait("it went live without a reload", `window.isOld && [...document.querySelectorAll("tr")].some((r) => r.innerText.includes("On time") && r.innerText.includes("Published"))`)
	if got := s.must("GET", "/v6/pages/"+pages[0]+"?versionRef=ref:live", ""); got.text("title") != "Scheduled" {
		t.Errorf("live: %v", got)
	}
	b.quiet()
}

func TestScheduledPlanFailsAfterAnEdit(t *testing.T) {
	t.Parallel()
	s := serve(t)
	site, pages := s.live(5, "")
	s.edit(pages[0], "", `{"title": "Planned"}`)
	b := s.signedIn(t)
	b.open("/console/sites/" + site + "/review")
	b.fill("Name", "Too late")
	b.later(8 * time.Second)
	b.submit("Schedule 1 change")
	b.see("Too late")
	s.edit(pages[1], "", `{"title": "Edited meanwhile"}`)
	b.wait("it failed", `[...document.querySelectorAll("tr")].some((r) => r.innerText.includes("Too late") && r.innerText.includes("Failed") && r.innerText.includes("The draft has changed"))`)
	b.wait("the nav says so", `document.querySelector(".nav .bad")?.innerText.trim().startsWith("1")`)
	b.quiet()
}

func TestScheduledDraftTakesLaterEdits(t *testing.T) {
	t.Parallel()
	s := serve(t)
	site, pages := s.live(5, "")
	s.edit(pages[0], "", `{"title": "First edit"}`)
	b := s.signedIn(t)
	b.open("/console/sites/" + site + "/review")
	b.later(6 * time.Second)
	b.click("The draft as it is then")
	b.submit("Schedule 1 change")
	s.edit(pages[1], "", `{"title": "Second edit"}`)
	b.wait("it went live", `[...document.querySelectorAll("tr")].some((r) => r.innerText.includes("Published"))`)
	if got := s.must("GET", "/v6/pages/"+pages[1]+"?versionRef=ref:live", ""); got.text("title") != "Second edit" {
		t.Errorf("live: %v", got)
	}
}

func TestCancelASchedule(t *testing.T) {
	t.Parallel()
	s := serve(t)
	site, pages := s.live(5, "")
	s.edit(pages[0], "", `{"title": "Never"}`)
	s.must("POST", "/v2/sites/"+site+"/publish", `{"name": "Never", "publishAt": "2090-01-01T00:00:00Z"}`)
	b := s.signedIn(t)
	b.open("/console/scheduled")
	b.see("Shop")
	b.see("1 Jan 2090 00:00 UTC")
	b.open("/console/sites/" + site + "/scheduled")
	b.submit("Cancel publish: Never")
	b.see("It was canceled.")
	b.see("Nothing is scheduled.")
	b.submit("Publishes")
	b.wait("it is in the history", `[...document.querySelectorAll("tr")].some((r) => r.innerText.includes("Never") && r.innerText.includes("Canceled"))`)
	b.quiet()
}

func TestRestoreShowsTheDifferenceFirst(t *testing.T) {
	t.Parallel()
	s := serve(t)
	site, pages := s.live(5, "")
	first := s.must("GET", "/v2/sites/"+site+"/publishes", "")["data"].([]any)[0].(map[string]any)["id"].(string)
	s.edit(pages[0], "", `{"title": "Second"}`)
	s.must("POST", "/v2/sites/"+site+"/publish", `{"name": "Second"}`)
	s.edit(pages[0], "", `{"title": "Third"}`)
	s.must("DELETE", "/v6/pages/"+pages[4], "")
	added := s.create("/v6/pages", `{"siteId": "`+site+`", "pathname": "/added"}`)
	s.must("POST", "/v2/sites/"+site+"/publish", `{"name": "Third"}`)
	s.edit(pages[2], "", `{"title": "Only draft"}`)
	before := s.must("GET", "/v6/pages/"+pages[2], "").text("etag")
	b := s.signedIn(t)
	b.open("/console/sites/" + site + "/publishes")
	b.submit("Go live with this again: First")
	b.at("/console/publishes/" + first + "/restore")
	b.wait("the difference is shown", `(() => {
		const card = (path) => [...document.querySelectorAll(".card")].find((c) => c.getAttribute("aria-label") === path);
		return document.querySelectorAll(".card").length === 3 && card("/p0").querySelector("del").innerText === "Third" && card("/p0").querySelector("ins").innerText === "Page 0"
			&& card("/p4").innerText.includes("New") && card("/added").innerText.includes("Deleted");
	})()`)
	b.focusIn("Cancel")
	b.submit("Go live with this again")
	b.see("Live is as it was after First.")
	if got := s.must("GET", "/v6/pages/"+pages[0]+"?versionRef=ref:live", ""); got.text("title") != "Page 0" {
		t.Errorf("live: %v", got)
	}
	if status, _ := s.send(s.key, "GET", "/v6/pages/"+added+"?versionRef=ref:live", ""); status != http.StatusNotFound {
		t.Errorf("the page that was added is live: %d", status)
	}
	if after := s.must("GET", "/v6/pages/"+pages[2], ""); after.text("etag") != before {
		t.Errorf("the draft changed: %v", after)
	}
	if after := s.must("GET", "/v6/pages/"+pages[0], ""); after.text("title") != "Third" { // its state follows what is live
		t.Errorf("the draft changed: %v", after)
	}
	b.quiet()
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
	b.submit("Publish 6 changes")
	b.see("6 changes are live.")
	if got := s.must("GET", "/v6/pages/"+pages["/about"]+"?versionRef=ref:live", ""); got.text("title") != "Without scripts" {
		t.Errorf("%v", got)
	}
}
