package httpapi_test

import (
	"net/url"
	"strings"
	"testing"
)

// inSite fills in the site of a case that was written down without one.
func inSite(text, siteID string) string { return strings.ReplaceAll(text, "{site}", siteID) }

func (s *system) newRoute(t *testing.T, siteID, pathname string) string {
	t.Helper()
	return s.must(t, 201, "POST", "/v2/routes", `{"siteId":"`+siteID+`","pathname":"`+pathname+`"}`).str(t, "id")
}

func TestRouteIsFoundByIDAndPathname(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		siteID, _ := s.newSite(t)
		otherID, _ := s.newSite(t)
		routeID := s.newRoute(t, siteID, "shop/café/")
		want := string(s.must(t, 200, "GET", "/v2/routes/"+routeID, "").body)
		for _, value := range []string{
			strings.ToUpper(routeID), "%2Fshop%2Fcaf%C3%A9", "shop/caf%C3%A9", "shop%2Fcafe%CC%81", "shop/caf%C3%A9/",
		} {
			checkEqual(t, value, want, string(s.must(t, 200, "GET", "/v2/routes/"+value+"?siteId="+siteID, "").body))
		}
		checkEqual(t, "without a site", []string{"siteId"}, s.must(t, 400, "GET", "/v2/routes/shop", "").fields(t))
		for _, value := range []string{"shop", "Shop/caf%C3%A9", "shop%252Fcafe", routeID} {
			r := s.must(t, 404, "GET", "/v2/routes/"+value+"?siteId="+otherID, "")
			checkEqual(t, value, "Route not found", r.str(t, "message"))
		}
	})
}

func TestRouteOfAnotherSystemsForm(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		siteID, _ := s.newSite(t)
		for _, pathname := range []string{"/products/[slug]", "/a/../b", "/docs/:page?", "*", "/100%"} {
			body := `{"siteId":"` + siteID + `","pathname":"` + pathname + `"}`
			if !strings.ContainsAny(pathname, "[%*") { // those are valid anyway
				checkEqual(t, pathname, []string{"pathname"}, s.must(t, 400, "POST", "/v2/routes", body).fields(t))
			}
			made := s.must(t, 201, "POST", "/v2/routes?skipValidation=true", body)
			checkEqual(t, "kept letter for letter", pathname, made.str(t, "pathname"))
			s.must(t, 409, "POST", "/v2/routes?skipValidation=true", body)
			found := s.must(t, 200, "GET", "/v2/routes/"+url.PathEscape(pathname)+"?siteId="+siteID, "")
			checkEqual(t, pathname, string(made.body), string(found.body))
		}
		// What is of our form is there once, however it is written.
		s.newPage(t, siteID, "/caf\u00e9")
		for _, pathname := range []string{"/café", "/café/", "/cafe\u0301", "/caf%C3%A9"} {
			s.must(t, 409, "POST", "/v2/routes?skipValidation=true", `{"siteId":"`+siteID+`","pathname":"`+pathname+`"}`)
		}
		routeID := s.newRoute(t, siteID, "/plain")
		s.must(t, 400, "PATCH", "/v2/routes/"+routeID, `{"pathname":"/x?y"}`)
		changed := s.must(t, 200, "PATCH", "/v2/routes/"+routeID+"?skipValidation=true", `{"pathname":"/x?y"}`)
		checkEqual(t, "changed", "/x?y", changed.str(t, "pathname"))
		for _, pathname := range []string{"", "a\\u0000b", "a\\nb", strings.Repeat("x", 2049)} {
			body := `{"siteId":"` + siteID + `","pathname":"` + pathname + `"}`
			checkEqual(t, "still refused", []string{"pathname"}, s.must(t, 400, "POST", "/v2/routes?skipValidation=true", body).fields(t))
		}
	})
}

func TestRouteBlocksItsPathnameInEveryLocale(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		siteID, _ := s.newSite(t)
		s.newLocale(t, siteID, "fr")
		pageID := s.newPage(t, siteID, "/about")
		routeID := s.newRoute(t, siteID, "/checkout")
		taken := "A page or route with this pathname already exists"
		page := `{"siteId":"` + siteID + `","pathname":"checkout/"}`
		checkEqual(t, "page", taken, s.must(t, 409, "POST", "/v6/pages", page).str(t, "message"))
		s.must(t, 409, "PATCH", "/v6/pages/"+pageID, `{"pathname":"/checkout"}`)
		s.must(t, 409, "PATCH", "/v6/pages/"+pageID+"?locale=fr", `{"pathname":"/checkout"}`)
		s.must(t, 409, "POST", "/v2/routes", page)

		// And what pages hold anywhere is not free for a route.
		s.must(t, 200, "PATCH", "/v6/pages/"+pageID+"?locale=fr", `{"pathname":"/a-propos"}`)
		for _, pathname := range []string{"/about", "/a-propos"} {
			checkEqual(t, pathname, taken, s.must(t, 409, "PATCH", "/v2/routes/"+routeID, `{"pathname":"`+pathname+`"}`).str(t, "message"))
		}
		s.must(t, 200, "PATCH", "/v2/routes/"+routeID, `{"pathname":"/cart"}`)
		s.must(t, 201, "POST", "/v6/pages", page)
		s.must(t, 204, "DELETE", "/v2/routes/"+routeID, "")
		s.must(t, 404, "DELETE", "/v2/routes/"+routeID, "")
		s.must(t, 404, "GET", "/v2/routes/cart?siteId="+siteID, "")
		s.must(t, 200, "PATCH", "/v6/pages/"+pageID+"?locale=fr", `{"pathname":"/cart"}`)
	})
}

func TestRouteIsNoPage(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		siteID, _ := s.newSite(t)
		routeID, pageID := s.newRoute(t, siteID, "/checkout"), s.newPage(t, siteID, "/about")
		for target, message := range map[string]string{
			"/v6/pages/checkout?siteId=" + siteID: "Page not found",
			"/v6/pages/" + routeID:                "Page not found",
			"/v2/routes/about?siteId=" + siteID:   "Route not found",
			"/v2/routes/" + pageID:                "Route not found",
		} {
			checkEqual(t, target, message, s.must(t, 404, "GET", target, "").str(t, "message"))
		}
	})
}
