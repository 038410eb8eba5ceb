package browsertest

import (
	"net/http"
	"testing"
)

func TestLocales(t *testing.T) {
	t.Parallel()
	s := serve(t)
	site, _ := s.shop()
	b := s.signedIn(t)
	b.open("/console/sites/" + site + "/locales")
	b.see("https://www.fjell.example/fr")
	b.fill("Code", "xx-YY-zz")
	b.submit("Add locale")
	b.focusIn("Code")
	b.fill("Code", "de")
	b.fill("Path prefix", "germany")
	b.submit("Add locale")
	b.see("Added de.")
	b.see("https://www.fjell.example/germany")
	b.submit("Change de")
	b.fill("Path prefix", "")
	b.submit("Save")
	b.see("https://www.fjell.example/de")
	b.submit("Delete de")
	b.focusIn("Cancel")
	b.submit("Delete de")
	b.see("de is deleted.")
	b.submit("Restore de")
	b.see("de is back.")
	b.submit("Make default fr")
	b.submit("Make fr the default")
	b.see("fr is the default locale.")
	if got := s.must("GET", "/v2/sites/"+site, "").text("defaultLocale"); got != "fr" {
		t.Errorf("the default locale is %s", got)
	}
	b.quiet()
}

func TestRoutes(t *testing.T) {
	t.Parallel()
	s := serve(t)
	site, _ := s.shop()
	b := s.signedIn(t)
	b.open("/console/sites/" + site + "/routes")
	b.fill("Pathname", "/about")
	b.submit("Add route")
	b.see("A page or route with this pathname already exists")
	b.fill("Pathname", "/checkout")
	b.submit("Add route")
	b.see("/checkout is kept for another system.")
	b.submit("Change /checkout")
	b.fill("Pathname", "/cart")
	b.submit("Save")
	b.see("/cart is kept")
	b.submit("Delete /cart")
	b.see("The pathname is free again.")
	if status, _ := s.send(s.key, "GET", "/v2/routes/cart?siteId="+site, ""); status != http.StatusNotFound {
		t.Errorf("the route is there: %d", status)
	}
	b.quiet()
}
