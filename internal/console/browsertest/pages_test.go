package browsertest

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// shop is a site with a few pages and French.
func (s *server) shop() (site string, pages map[string]string) {
	s.t.Helper()
	site = s.create("/v2/sites", `{"name": "Shop", "hostOrigin": "https://www.fjell.example"}`)
	s.create("/v2/locales", `{"siteId": "`+site+`", "locale": "fr"}`)
	pages = map[string]string{}
	for _, path := range []string{"/", "/about", "/shop", "/shop/jackets", "/shop/jackets/storm", "/shop/tents"} {
		pages[path] = s.create("/v6/pages", fmt.Sprintf(`{"siteId": %q, "pathname": %q, "title": %q}`, site, path, "Title of "+path))
	}
	return site, pages
}

func TestNewPageIsRefusedBesideItsField(t *testing.T) {
	t.Parallel()
	s := serve(t)
	site, _ := s.shop()
	s.create("/v2/routes", `{"siteId": "`+site+`", "pathname": "/checkout"}`)
	b := s.signedIn(t)
	b.open("/console/sites/" + site + "/pages")
	b.submit("New page")
	b.fill("Pathname", "/a//b")
	b.fill("Title", "Typed before")
	b.submit("Create page")
	b.see("must not have an empty segment")
	b.focusIn("Pathname")
	if got := b.value("Title"); got != "Typed before" {
		t.Errorf("the title is %q", got)
	}
	b.fill("Pathname", "/checkout")
	b.submit("Create page")
	b.see("The route /checkout already has this pathname")
	b.quiet()
}

func TestNewPageIsInTheDraft(t *testing.T) {
	t.Parallel()
	s := serve(t)
	site, _ := s.shop()
	b := s.signedIn(t)
	b.open("/console/sites/" + site + "/pages/new?under=/shop")
	if got := b.value("Pathname"); got != "/shop/" {
		t.Errorf("the form begins with %q", got)
	}
	b.fill("Pathname", "/shop/boots")
	b.fill("Title", "Boots")
	b.submit("Create page")
	b.see("Created /shop/boots.")
	b.wait("the row is new", `[...document.querySelectorAll(".pages .row")].some((r) => r.innerText.includes("boots") && r.innerText.includes("New"))`)
	if got := s.must("GET", "/v6/pages/shop/boots?siteId="+site, ""); got.text("title") != "Boots" {
		t.Errorf("%v", got)
	}
	if status, _ := s.send(s.key, "GET", "/v6/pages/shop/boots?siteId="+site+"&versionRef=ref:live", ""); status != http.StatusNotFound {
		t.Errorf("live: %d", status)
	}
	b.quiet()
}

func TestTreeOpensInPlace(t *testing.T) {
	t.Parallel()
	s := serve(t)
	site, _ := s.shop()
	b := s.signedIn(t)
	b.open("/console/sites/" + site + "/pages")
	b.notSee("jackets")
	b.click("shop: 3 below")
	b.wait("its children are below it", `[...document.querySelectorAll(".pages .row")].map((r) => r.querySelector(".open")?.innerText).join() === "/,about,shop,jackets,tents"`)
	b.wait("it is expanded", found("a.tw", "shop: 3 below")+`.getAttribute("aria-expanded") === "true"`)
	b.focusIn("shop: 3 below")
	b.click("jackets: 1 below")
	b.see("storm")
	b.click("shop: 3 below")
	b.notSee("storm")
	b.back()
	b.see("storm")
	b.quiet()
}

func TestKeysOpenAPage(t *testing.T) {
	t.Parallel()
	s := serve(t)
	site, _ := s.shop()
	b := s.signedIn(t)
	b.open("/console/sites/" + site + "/pages")
	b.see("about")
	b.keys("jjo")
	b.wait("the panel has the focus", `document.activeElement.id === "pt" && document.activeElement.innerText === "Title of /about"`)
	b.keys(kb.Escape)
	b.wait("the row has the focus", `document.activeElement.innerText === "about" && !document.querySelector("#panel").children.length`)
	b.keys("jx")
	b.wait("a row is selected", `document.querySelector(".pages input:checked")?.getAttribute("aria-label") === "Select /shop"`)
	b.quiet()
}

func TestOverrideAndReset(t *testing.T) {
	t.Parallel()
	s := serve(t)
	site, pages := s.shop()
	about := pages["/about"]
	b := s.signedIn(t)
	b.open("/console/sites/" + site + "/pages?locale=fr&page=" + about)
	b.wait("the title is inherited", `document.querySelector("#f-title").readOnly && document.querySelector("#f-title").closest(".f").classList.contains("in-h")`)
	b.wait("the row says where its title is from", `document.querySelector("#o`+about+`").closest("tr").innerText.includes("en-US")`)
	b.click("Override Title")
	b.fill("Title", "À propos")
	b.submit("Save")
	b.see("Saved in the draft.")
	b.wait("it is the locale's own", `document.querySelector("#f-title").closest(".f").classList.contains("ov")`)
	b.wait("the stick has one slot", `document.querySelector("#o`+about+`").closest("tr").querySelectorAll(".stick .on").length === 1`)
	if got := s.must("GET", "/v6/pages/"+about+"?locale=fr", ""); got.text("title") != "À propos" || fmt.Sprint(got["overrides"]) != "[title]" {
		t.Errorf("%v", got)
	}
	b.submit("Reset Title")
	b.wait("it is inherited again", `document.querySelector("#f-title").readOnly && document.querySelector("#f-title").value === "Title of /about"`)
	if got := s.must("GET", "/v6/pages/"+about+"?locale=fr", ""); fmt.Sprint(got["overrides"]) != "[]" {
		t.Errorf("%v", got)
	}
	b.quiet()
}

func TestTwoBrowsersSaveOnePage(t *testing.T) {
	t.Parallel()
	s := serve(t)
	site, pages := s.shop()
	address := "/console/sites/" + site + "/pages/" + pages["/about"]
	first, second := s.signedIn(t), s.signedIn(t)
	first.open(address)
	second.open(address)
	first.fill("Title", "From the first")
	first.submit("Save")
	first.see("Saved in the draft.")
	second.fill("Title", "From the second")
	second.fill("Description", "Also typed")
	second.submit("Save")
	second.see("Somebody else has saved this page.")
	second.see("From the first")
	if title, description := second.value("Title"), second.value("Description"); title != "From the second" || description != "Also typed" {
		t.Errorf("typed values are lost: %q, %q", title, description)
	}
	if got := s.must("GET", "/v6/pages/"+pages["/about"], ""); got.text("title") != "From the first" {
		t.Errorf("it was saved: %v", got)
	}
	second.submit("Keep mine")
	second.see("Saved in the draft.")
	if got := s.must("GET", "/v6/pages/"+pages["/about"], ""); got.text("title") != "From the second" || got.text("description") != "Also typed" {
		t.Errorf("%v", got)
	}
}

func TestVersionsAreReadOnly(t *testing.T) {
	t.Parallel()
	s := serve(t)
	site, pages := s.shop()
	published := s.create("/v2/sites/"+site+"/publish", `{"name": "First"}`)
	s.must("PATCH", "/v6/pages/"+pages["/about"], `{"title": "Later"}`)
	s.create("/v2/sites/"+site+"/publish", `{"name": "Second"}`)
	s.create("/v6/pages", `{"siteId": "`+site+`", "pathname": "/unpublished"}`)
	b := s.signedIn(t)
	b.open("/console/sites/" + site + "/pages")
	b.see("unpublished")
	b.submit("Live")
	b.notSee("unpublished")
	b.see("Later")
	b.click("As of…")
	b.submit("First")
	b.at("/console/sites/" + site + "/pages?version=publish%3A" + published)
	b.see("Title of /about")
	b.notSee("Later")
	b.click("about")
	b.wait("nothing can be changed", `document.querySelector("#f-title")?.readOnly && !document.querySelector("#panel button[value=save]") && !document.querySelector(".pages input[name=id]")`)
	b.quiet()
}

func TestFindAndFilterPages(t *testing.T) {
	t.Parallel()
	s := serve(t)
	site, pages := s.shop()
	s.must("POST", "/v2/sites/"+site+"/publish", "")
	s.must("PATCH", "/v6/pages/"+pages["/shop/tents"], `{"title": "Better tents"}`)
	b := s.signedIn(t)
	b.open("/console/sites/" + site + "/pages")
	b.submit("Changed")
	b.wait("only that one", `document.querySelectorAll(".pages a.open").length === 1`)
	b.see("/shop/tents")
	b.submit("All")
	b.keys("/")
	b.keys("storm")
	b.wait("it is found", `document.querySelectorAll(".pages a.open").length === 1`)
	b.see("/shop/jackets/storm")
	b.keys(kb.Enter)
	b.wait("it is opened", `document.querySelector("#pt")?.innerText === "Title of /shop/jackets/storm"`)
	b.quiet()
}

func TestBulk(t *testing.T) {
	t.Parallel()
	s := serve(t)
	site, pages := s.shop()
	b := s.signedIn(t)
	b.open("/console/sites/" + site + "/pages?view=list")
	b.wait("the buttons wait for a selection", `document.querySelector("[data-bulk].waiting")`)
	b.click("Select /about")
	b.click("Select /shop/tents")
	b.submit("Take offline")
	b.see("2 pages are offline in the draft.")
	if got := s.must("GET", "/v6/pages/"+pages["/about"], ""); got["isOnline"] != false {
		t.Errorf("%v", got)
	}
	b.click("Select /about")
	b.submit("Delete…")
	b.see("Delete 1 page")
	b.focusIn("Cancel")
	b.submit("Delete 1 page")
	b.see("1 page deleted from the draft.")
	b.notSee("/about")
	b.submit("Deleted")
	b.click("Select /about")
	b.submit("Restore")
	b.see("1 page is back.")
	s.must("GET", "/v6/pages/"+pages["/about"], "")
	b.quiet()
}

func TestContentIsEdited(t *testing.T) {
	t.Parallel()
	s := serve(t)
	site, pages := s.shop()
	id := pages["/about"]
	s.must("PUT", "/v6/pages/"+id+"/content", `{"price": 0.10, "items": [1, 2]}`)
	s.must("POST", "/v2/sites/"+site+"/publish", "")
	b := s.signedIn(t)
	b.open("/console/sites/" + site + "/pages/" + id + "/content")
	if got := b.value("JSON"); !strings.Contains(got, `"price": 0.10`) {
		t.Errorf("the editor has %s", got)
	}
	b.fill("JSON", `{"price": 0.20, "price": 1}`)
	b.submit("Save")
	b.see("price")
	b.wait("what was typed is there", `document.querySelector("#f-content").value === '{"price": 0.20, "price": 1}' && document.querySelector("#f-content").getAttribute("aria-invalid")`)
	b.fill("JSON", `{"price": 0.20, "items": [1, 2]}`)
	b.submit("Save")
	b.see("Saved in the draft.")
	b.see("Different from live")
	b.see("/price")
	b.quiet()
}

func TestComparePage(t *testing.T) {
	t.Parallel()
	s := serve(t)
	site, pages := s.shop()
	s.must("POST", "/v2/sites/"+site+"/publish", "")
	b := s.signedIn(t)
	b.open("/console/sites/" + site + "/pages/" + pages["/about"] + "/compare")
	b.see("No difference")
	s.must("PATCH", "/v6/pages/"+pages["/about"], `{"title": "Title of ours"}`)
	b.open("/console/sites/" + site + "/pages/" + pages["/about"] + "/compare")
	b.wait("words differ", `document.querySelector("del").innerText === "/about" && document.querySelector("ins").innerText === "ours"`)
	b.quiet()
}
