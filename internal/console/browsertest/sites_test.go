package browsertest

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

func TestFirstSite(t *testing.T) {
	t.Parallel()
	s := serve(t)
	b := s.signedIn(t)
	b.see("A site is where pages live.")
	b.click("New site")
	b.fill("Name", "Fjell & Fjord")
	b.fill("Origin", "no origin")
	b.click("Create site")
	b.see("must be")
	if got := b.value("Name"); got != "Fjell & Fjord" {
		t.Errorf("the name is %q", got)
	}
	b.fill("Origin", "https://www.fjellfjord.example")
	b.click("Create site")
	b.see("Created Fjell & Fjord.")
	b.see("No pages yet.")
	b.quiet()
}

func TestFindSiteAmongMany(t *testing.T) {
	t.Parallel()
	s := serve(t)
	var making sync.WaitGroup
	for i := range 8 {
		making.Go(func() {
			for n := range 250 {
				s.create("/v2/sites", fmt.Sprintf(`{"name": "Site %d"}`, i*250+n))
			}
		})
	}
	making.Wait()
	want := s.create("/v2/sites", `{"name": "Fjell & Fjord"}`)
	b := s.signedIn(t)
	b.see("Site 12")
	b.keys("/")
	b.keys("fjel")
	b.wait("only that one is listed", `document.querySelectorAll("#rows a.open").length === 1`)
	b.see("Fjell & Fjord")
	b.keys(kb.Enter)
	b.at("/console/sites/" + want + "/pages")
	b.quiet()
}

func TestDeletedSiteComesBack(t *testing.T) {
	t.Parallel()
	s := serve(t)
	id := s.create("/v2/sites", `{"name": "Shop"}`)
	s.must("DELETE", "/v2/sites/"+id, "")
	b := s.signedIn(t)
	b.click("Deleted")
	b.click("Restore Shop")
	b.see("Shop is back.")
	s.must("GET", "/v2/sites/"+id, "")
}

func TestReadersAreToldWhatTheyLack(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.create("/v2/sites", `{"name": "Shop"}`)
	key, _ := s.app(`{"name": "Reader", "scopes": ["read"]}`)
	b := s.signedIn(t, key)
	b.see("Needs the scope write")
	b.wait("the button is disabled", found("button", "New site")+".disabled")
	cookie := s.post("/console/sign-in", "key="+key).Cookies()[0]
	if got := s.post("/console/sites/new", "name=Mine&defaultLocale=en", cookie).StatusCode; got != 403 {
		t.Errorf("a form made by hand: %d", got)
	}
}

func TestRestrictedKeySeesItsSites(t *testing.T) {
	t.Parallel()
	s := serve(t)
	mine, other := s.create("/v2/sites", `{"name": "Mine"}`), s.create("/v2/sites", `{"name": "Other"}`)
	key, _ := s.app(`{"name": "Restricted", "scopes": ["read", "write"], "siteIds": ["` + mine + `"]}`)
	b := s.signedIn(t, key)
	b.see("Mine")
	b.notSee("Other")
	b.see("A key that is restricted to sites can't make one")
	b.open("/console/sites/" + other + "/pages")
	b.see("Site not found")
	cookie := s.post("/console/sign-in", "key="+key).Cookies()[0]
	for _, id := range []string{other, strings.Repeat("0", 8) + other[8:], "x"} {
		if got := s.get("/console/sites/"+id+"/pages", cookie).StatusCode; got != 404 {
			t.Errorf("%s: %d", id, got)
		}
	}
}
