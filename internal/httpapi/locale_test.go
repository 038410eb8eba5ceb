package httpapi_test

import (
	"testing"
	"time"

	"galley/internal/cms"
)

// newLocale makes a locale and returns its id.
func (s *system) newLocale(t *testing.T, siteID, code string) string {
	t.Helper()
	return s.must(t, 201, "POST", "/v2/locales", `{"siteId":"`+siteID+`","locale":"`+code+`"}`).str(t, "id")
}

func TestLocaleCodeIsCanonical(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		siteID, _ := s.newSite(t)
		for sent, stored := range map[string]string{"FR": "fr", "pT-bR": "pt-BR", "de-at": "de-AT", "ES": "es"} {
			made := s.must(t, 201, "POST", "/v2/locales", `{"siteId":"`+siteID+`","locale":"`+sent+`"}`)
			checkEqual(t, sent, stored, made.str(t, "locale"))
			for _, code := range []string{sent, stored} {
				found := s.must(t, 200, "GET", "/v2/locales/"+code+"?siteId="+siteID, "")
				checkEqual(t, code, string(made.body), string(found.body))
			}
			s.must(t, 409, "POST", "/v2/locales", `{"siteId":"`+siteID+`","locale":"`+sent+`"}`)
		}
		checkEqual(t, "renamed", "it-CH", s.must(t, 200, "PATCH", "/v2/locales/fr?siteId="+siteID, `{"locale":"IT-ch"}`).str(t, "locale"))
		s.must(t, 404, "GET", "/v2/locales/fr?siteId="+siteID, "")
	})
}

func TestLocaleCodeAndPlaceAreUniqueInASite(t *testing.T) {
	taken := []struct{ name, method, target, body string }{
		{"code", "POST", "/v2/locales", `{"siteId":"{site}","locale":"fr","pathPrefix":"x"}`},
		{"code in another letter case", "POST", "/v2/locales", `{"siteId":"{site}","locale":"FR"}`},
		{"code of the default locale", "POST", "/v2/locales", `{"siteId":"{site}","locale":"en-US"}`},
		{"code by renaming", "PATCH", "/v2/locales/fr?siteId={site}", `{"locale":"en-us"}`},
		{"domain at its root", "POST", "/v2/locales", `{"siteId":"{site}","locale":"it","domain":"https://fr.example.com"}`},
		{"domain in another form", "POST", "/v2/locales", `{"siteId":"{site}","locale":"it","domain":"HTTPS://FR.example.com:443/","pathPrefix":""}`},
		{"domain by change", "PATCH", "/v2/locales/en-US?siteId={site}", `{"domain":"https://fr.example.com"}`},
		{"the site's origin as a domain", "POST", "/v2/locales", `{"siteId":"{site}","locale":"it","domain":"https://www.example.com"}`},
		{"the site's origin and a prefix", "POST", "/v2/locales", `{"siteId":"{site}","locale":"it","domain":"https://www.example.com","pathPrefix":"nl"}`},
		{"prefix that is another's code", "POST", "/v2/locales", `{"siteId":"{site}","locale":"it","pathPrefix":"es"}`},
		{"code that is another's prefix", "POST", "/v2/locales", `{"siteId":"{site}","locale":"nl"}`},
		{"two prefixes", "PATCH", "/v2/locales/es?siteId={site}", `{"pathPrefix":"nl"}`},
		{"two at the root", "PATCH", "/v2/locales/es?siteId={site}", `{"pathPrefix":""}`},
		{"domain given up", "PATCH", "/v2/locales/pt?siteId={site}", `{"domain":null}`},
		{"the site's default prefix", "PATCH", "/v2/sites/{site}", `{"defaultLocalePathPrefix":"es"}`},
		{"the site's origin", "PATCH", "/v2/sites/{site}", `{"hostOrigin":"https://fr.example.com"}`},
		{"the default locale's old place", "PATCH", "/v2/sites/{site}", `{"defaultLocale":"es"}`},
		{"a new default locale's place", "PATCH", "/v2/sites/{site}", `{"defaultLocale":"it","defaultLocalePathPrefix":"nl"}`},
	}
	onBothEngines(t, func(t *testing.T, s *system) {
		siteID := s.must(t, 201, "POST", "/v2/sites", `{"name":"S","hostOrigin":"https://www.example.com"}`).str(t, "id")
		fill := func(id string) {
			for _, locale := range []string{
				`"fr","domain":"https://fr.example.com"`, `"de","pathPrefix":"nl"`, `"es"`, `"pt","domain":"https://pt.example.com","pathPrefix":"nl"`,
				`"ja","pathPrefix":"en-US"`, // free while the default locale is at the root
			} {
				s.must(t, 201, "POST", "/v2/locales", `{"siteId":"`+id+`","locale":`+locale+`}`)
			}
		}
		fill(siteID)
		before := s.must(t, 200, "GET", "/v2/locales?siteId="+siteID, "")
		for _, c := range taken {
			r := s.call(t, c.method, inSite(c.target, siteID), inSite(c.body, siteID))
			if r.status != 409 {
				t.Errorf("%s: got %d, want 409\n%s", c.name, r.status, r.body)
			}
		}
		after := s.must(t, 200, "GET", "/v2/locales?siteId="+siteID, "")
		checkEqual(t, "refused requests change nothing", string(before.body), string(after.body))

		otherID, _ := s.newSite(t)
		fill(otherID) // unique in a site, not beyond it
		s.must(t, 200, "PATCH", "/v2/locales/fr?siteId="+siteID, `{"locale":"FR","domain":"https://fr.example.com"}`)
		s.must(t, 204, "DELETE", "/v2/locales/de?siteId="+siteID, "")
		s.must(t, 201, "POST", "/v2/locales", `{"siteId":"`+siteID+`","locale":"nl"}`) // freed
	})
}

// Locales of different origins do not compete for a prefix.
func TestLocalesAreServedAtTheRootOfTheirDomains(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		siteID := s.must(t, 201, "POST", "/v2/sites", `{"name":"S","hostOrigin":"https://example.com","defaultLocale":"en"}`).str(t, "id")
		de := s.must(t, 201, "POST", "/v2/locales", `{"siteId":"`+siteID+`","locale":"de","domain":"https://example.de","pathPrefix":""}`).str(t, "id")
		s.must(t, 201, "POST", "/v2/locales", `{"siteId":"`+siteID+`","locale":"de-AT","domain":"https://example.de","pathPrefix":"at"}`)
		s.must(t, 201, "POST", "/v2/locales", `{"siteId":"`+siteID+`","locale":"fr","domain":"https://example.fr"}`)
		s.must(t, 200, "PATCH", "/v2/sites/"+siteID, `{"defaultLocalePathPrefix":""}`)
		s.must(t, 409, "PATCH", "/v2/locales/"+de, `{"domain":"https://example.fr"}`)
		s.must(t, 409, "PATCH", "/v2/sites/"+siteID, `{"hostOrigin":"https://example.de"}`)

		// A deleted locale comes back unless its place was taken by another write.
		s.must(t, 204, "DELETE", "/v2/locales/"+de, "")
		s.must(t, 200, "PATCH", "/v2/sites/"+siteID, `{"hostOrigin":"https://example.de"}`)
		s.must(t, 409, "POST", "/v2/locales/"+de+"/restore", "")
		s.must(t, 200, "PATCH", "/v2/sites/"+siteID, `{"hostOrigin":null}`)
		s.must(t, 200, "POST", "/v2/locales/"+de+"/restore", "")

		// The default locale takes the root with it: the old one gets its code.
		s.must(t, 200, "PATCH", "/v2/sites/"+siteID, `{"defaultLocale":"fr"}`)
		s.must(t, 409, "PATCH", "/v2/locales/en?siteId="+siteID, `{"domain":"https://example.fr"}`)
		s.must(t, 200, "PATCH", "/v2/locales/en?siteId="+siteID, `{"pathPrefix":null}`)
		s.must(t, 409, "POST", "/v2/locales", `{"siteId":"`+siteID+`","locale":"it","pathPrefix":"en"}`)
	})
}

func TestRacingLocalesOfOnePlace(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		for range 5 {
			siteID, _ := s.newSite(t)
			statuses := make(chan int, 8)
			for i, code := range []string{"fr", "de", "it", "es", "pt", "nl", "pl", "sv"} {
				go func() {
					body := `{"siteId":"` + siteID + `","locale":"` + code + `","domain":"https://a.example"}`
					if i%2 == 1 {
						body = `{"siteId":"` + siteID + `","locale":"` + code + `","domain":"https://a.example","pathPrefix":""}`
					}
					status, _, err := s.quick("POST", "/v2/locales", body)
					if err != nil {
						t.Error(err)
					}
					statuses <- status
				}()
			}
			count := map[int]int{}
			for range 8 {
				count[<-statuses]++
			}
			checkEqual(t, "statuses", map[int]int{201: 1, 409: 7}, count)
		}
	})
}

// A code that was replaced names the locale in every place that takes a code.
func TestReplacedLocaleCode(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		siteID, _ := s.newSite(t)
		pageID := s.newPage(t, siteID, "/about")
		id := s.must(t, 201, "POST", "/v2/locales", `{"siteId":"`+siteID+`","locale":"iw"}`).str(t, "id")
		read := func() {
			t.Helper()
			for _, code := range []string{"iw", "he", "IW"} {
				checkEqual(t, code, id, s.must(t, 200, "GET", "/v2/locales/"+code+"?siteId="+siteID, "").str(t, "id"))
				s.must(t, 200, "GET", "/v6/pages/"+pageID+"?locale="+code, "")
				s.must(t, 409, "POST", "/v2/locales", `{"siteId":"`+siteID+`","locale":"`+code+`","pathPrefix":"x"}`)
			}
		}
		read()
		// An earlier version stored the old code.
		if err := s.store.InTx(t.Context(), func(tx cms.Tx) error {
			site, _ := cms.ParseID(siteID)
			locales, err := tx.Locales(t.Context(), site)
			if err != nil {
				return err
			}
			locale, _ := locales.ByCode("he")
			locale.Code = "iw"
			return tx.UpdateLocale(t.Context(), locale)
		}); err != nil {
			t.Fatal(err)
		}
		read()
		s.must(t, 204, "DELETE", "/v2/locales/he?siteId="+siteID, "")
		checkEqual(t, "restored", id, s.must(t, 200, "POST", "/v2/locales/iw/restore?siteId="+siteID, "").str(t, "id"))
	})
}

func TestDefaultLocaleIsNotDeleted(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		siteID, _ := s.newSite(t)
		id := s.must(t, 200, "GET", "/v2/locales/en-US?siteId="+siteID, "").str(t, "id")
		for _, target := range []string{"/v2/locales/en-US?siteId=" + siteID, "/v2/locales/" + id} {
			checkEqual(t, target, []string{"locale"}, s.must(t, 400, "DELETE", target, "").fields(t))
		}
		s.must(t, 200, "PATCH", "/v2/sites/"+siteID, `{"defaultLocale":"fr"}`)
		checkEqual(t, "new default", []string{"locale"}, s.must(t, 400, "DELETE", "/v2/locales/fr?siteId="+siteID, "").fields(t))
		s.must(t, 204, "DELETE", "/v2/locales/"+id, "")
		s.must(t, 404, "DELETE", "/v2/locales/"+id, "")
	})
}

func TestLocaleIsHiddenAndRestoredAsItWas(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		siteID, _ := s.newSite(t)
		localeID := s.must(t, 201, "POST", "/v2/locales", `{"siteId":"`+siteID+`","locale":"fr","domain":"https://fr.example.com","pathPrefix":"france"}`).str(t, "id")
		pageID := s.newPage(t, siteID, "/about")
		s.must(t, 200, "PATCH", "/v6/pages/"+pageID+"?locale=fr", `{"pathname":"/a-propos","title":"À propos","isOnline":false}`)
		reads := []string{
			"/v2/locales/" + localeID, "/v2/locales/fr?siteId=" + siteID, "/v6/pages/" + pageID + "?locale=fr",
			"/v6/pages/" + pageID + "?locale=" + localeID, "/v6/pages/a-propos?locale=fr&siteId=" + siteID,
			"/v6/pages?locale=fr&includeOffline=true&siteId=" + siteID,
		}
		before := map[string]string{}
		for _, read := range reads {
			before[read] = string(s.must(t, 200, "GET", read, "").body)
		}
		s.must(t, 409, "POST", "/v2/locales/"+localeID+"/restore", "")
		s.must(t, 204, "DELETE", "/v2/locales/"+localeID, "")
		for _, read := range reads {
			checkEqual(t, read, "Locale not found", s.must(t, 404, "GET", read, "").str(t, "message"))
		}
		shown := s.must(t, 200, "GET", "/v6/pages/"+pageID, "").json(t)
		checkEqual(t, "hidden localizations", []any{}, shown["localizations"].([]any))
		checkEqual(t, "locales", []any{"en-US"}, s.must(t, 200, "GET", "/v2/locales?siteId="+siteID, "").column(t, "locale"))
		s.must(t, 404, "PATCH", "/v6/pages/"+pageID+"?locale=fr", `{"title":"x"}`)

		s.must(t, 200, "POST", "/v2/locales/FR/restore?siteId="+siteID, "")
		for _, read := range reads {
			checkEqual(t, read, before[read], string(s.must(t, 200, "GET", read, "").body))
		}
		s.must(t, 409, "POST", "/v2/locales/fr/restore?siteId="+siteID, "")
		s.must(t, 404, "POST", "/v2/locales/de/restore?siteId="+siteID, "")
	})
}

func TestLocaleIsNotRestoredOverWhatHasTakenItsPlace(t *testing.T) {
	cases := []struct{ name, method, target, body string }{
		{"code", "POST", "/v2/locales", `{"siteId":"{site}","locale":"fr","pathPrefix":"x"}`},
		{"domain and prefix", "POST", "/v2/locales", `{"siteId":"{site}","locale":"de","domain":"https://fr.example.com","pathPrefix":"france"}`},
		{"place of the default locale", "PATCH", "/v2/sites/{site}", `{"hostOrigin":"https://fr.example.com","defaultLocalePathPrefix":"france"}`},
		{"pathname by a page", "POST", "/v6/pages", `{"siteId":"{site}","pathname":"/a-propos"}`},
		{"pathname by a route", "POST", "/v2/routes", `{"siteId":"{site}","pathname":"/a-propos"}`},
	}
	onBothEngines(t, func(t *testing.T, s *system) {
		for _, c := range cases {
			siteID, _ := s.newSite(t)
			localeID := s.must(t, 201, "POST", "/v2/locales", `{"siteId":"`+siteID+`","locale":"fr","domain":"https://fr.example.com","pathPrefix":"france"}`).str(t, "id")
			pageID := s.newPage(t, siteID, "/about")
			s.must(t, 200, "PATCH", "/v6/pages/"+pageID+"?locale=fr", `{"pathname":"/a-propos"}`)
			s.must(t, 204, "DELETE", "/v2/locales/"+localeID, "")
			if r := s.call(t, c.method, inSite(c.target, siteID), inSite(c.body, siteID)); r.status >= 300 {
				t.Fatalf("%s is not free while the locale is hidden: %d %s", c.name, r.status, r.body)
			}
			if r := s.call(t, "POST", "/v2/locales/"+localeID+"/restore", ""); r.status != 409 {
				t.Errorf("%s: restoring over it got %d, want 409\n%s", c.name, r.status, r.body)
			}
			s.must(t, 404, "GET", "/v2/locales/"+localeID, "")
		}
	})
}

func TestLocaleDeletedLastIsRestoredByCode(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *system) {
		siteID, _ := s.newSite(t)
		older := s.newLocale(t, siteID, "fr")
		s.must(t, 204, "DELETE", "/v2/locales/fr?siteId="+siteID, "")
		ahead := s.later(t, time.Minute) // so that the times of deletion differ
		newer := ahead.newLocale(t, siteID, "fr")
		ahead.must(t, 204, "DELETE", "/v2/locales/fr?siteId="+siteID, "")
		checkEqual(t, "by code", newer, s.must(t, 200, "POST", "/v2/locales/fr/restore?siteId="+siteID, "").str(t, "id"))
		s.must(t, 409, "POST", "/v2/locales/"+older+"/restore", "")
	})
}
