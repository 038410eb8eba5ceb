package httpapi_test

import (
	"encoding/json"
	"strings"
	"testing"

	"galley/internal/httpapi"
	"galley/internal/sqlstore"
)

// sampleID stands for any id in the document.
const sampleID = "01980a5c-7d3e-7f00-8a3b-5f0d4c1e2a6b"

// The reference at /docs sends what a parameter or a body has for an example: a
// first try must do no more than what was asked for, and work.
func TestExamplesOfTheDocumentWork(t *testing.T) {
	var doc struct {
		Paths map[string]map[string]struct {
			OperationID string
			Parameters  []struct {
				Name, In string
				Required bool
				Schema   struct{ Example any }
			}
			RequestBody struct {
				Content map[string]struct{ Example json.RawMessage }
			}
		}
	}
	if err := json.Unmarshal(httpapi.Document("test"), &doc); err != nil {
		t.Fatal(err)
	}
	onBothEngines(t, func(t *testing.T, s *system) {
		bodies := 0
		for path, operations := range doc.Paths {
			for method, o := range operations {
				for _, p := range o.Parameters {
					if p.In == "query" && !p.Required && p.Schema.Example != nil {
						t.Errorf("%s: %s is optional, and would be sent as %v", o.OperationID, p.Name, p.Schema.Example)
					}
				}
				for kind, body := range o.RequestBody.Content {
					bodies++
					e := newExample(t, s) // what one has made is in no other's way
					target := strings.NewReplacer("{siteId}", e.site, "{appId}", e.app, "{pageId}", e.page, "{pageIdOrPathname}", e.page,
						"{routeIdOrPathname}", e.route, "{redirectId}", e.redirect, "{localeIdOrCode}", "pt-BR", "/v2/webhooks/{webhookId}", e.webhook(t)).Replace(path)
					if strings.Contains(target, "/locales/") {
						target += "?siteId=" + e.site
					}
					text := string(body.Example)
					if strings.Contains(text, sampleID) {
						site, _ := s.newSite(t) // in which it is the first
						text = strings.ReplaceAll(text, sampleID, site)
					}
					r := s.call(t, strings.ToUpper(method), target, text, "Content-Type", kind)
					if len(body.Example) < len(`{"a":0}`) || r.status >= 300 {
						t.Errorf("%s with %s: %d %s", o.OperationID, text, r.status, r.body)
					}
				}
			}
		}
		if bodies < 15 {
			t.Errorf("only %d bodies were tried", bodies)
		}
	})
}

// The document is the truth about every address.
func TestDocumentHasEveryAddress(t *testing.T) {
	var doc struct {
		Paths map[string]map[string]struct {
			Responses map[string]struct{ Headers map[string]any }
		}
	}
	if err := json.Unmarshal(httpapi.Document("test"), &doc); err != nil {
		t.Fatal(err)
	}
	store, err := sqlstore.OpenSQLite(t.TempDir(), nil)
	s := newSystem(t, store, err)
	for _, path := range []string{"/healthz", "/readyz", "/openapi.json", "/docs", "/metrics", "/debug/pprof/{profile}"} {
		s.must(t, 200, "GET", strings.ReplaceAll(path, "{profile}", "heap"), "")
		if _, ok := doc.Paths[path]["get"]; !ok {
			t.Errorf("%s is not in the document", path)
		}
	}
	for path, operations := range doc.Paths {
		if kept, ok := operations["get"].Responses["304"]; ok && kept.Headers["ETag"] == nil {
			t.Errorf("%s: 304 is without an entity tag", path)
		}
	}
}
