package main_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	galley "galley/sdk/go"
)

// randomSite makes a site with everything that a bundle can have.
type randomSite struct {
	t      *testing.T
	client *galley.Client
	rng    *rand.Rand
	id     string
	codes  []string        // of the locales but the default one
	taken  map[string]bool // pathnames, in any locale
}

// newClient returns a client of a server.
func newClient(t *testing.T, p *process) *galley.Client {
	t.Helper()
	client, err := galley.New(p.url, galley.WithKey(p.key(t)), galley.WithRetries(10, 0))
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// ok returns the value of a call that has to succeed.
func ok[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// newRandomSite creates a site with so many pages, some of them published, deleted and moved.
func newRandomSite(t *testing.T, client *galley.Client, seed uint64, pages int) *randomSite {
	t.Helper()
	s := &randomSite{t: t, client: client, rng: rand.New(rand.NewPCG(seed, 0)), codes: []string{"fr", "de-CH", "ja", "pt-BR"}, taken: map[string]bool{}}
	site := ok[galley.Site](t)(client.Sites.Create(t.Context(), galley.SiteCreate{
		Name: "Büro: #1", HostOrigin: galley.Value("https://www.example.com"), DefaultLocale: "en-GB", SiteKeyAccess: "live",
		AutoRedirects: galley.Value(true), PreviewURLTemplate: galley.Value("https://preview.example.com{pathname}?t={token}"), Labels: []string{"b", "a"},
	}))
	s.id = site.ID
	for i, code := range s.codes {
		create := galley.LocaleCreate{SiteID: s.id, Locale: code}
		if i == 0 {
			create.Domain, create.PathPrefix = galley.Value("https://example.fr"), galley.Value("")
		}
		if i == 1 {
			create.PathPrefix = galley.Value("schwyz")
		}
		ok[galley.Locale](t)(client.Locales.Create(t.Context(), create))
	}
	for _, pathname := range []string{"/checkout", "/products/[slug]", "/100%2541", "search?q=*"} {
		ok[galley.Route](t)(client.Routes.Create(t.Context(), galley.RouteCreate{SiteID: s.id, Pathname: pathname}, galley.RouteRef{SkipValidation: true}))
	}
	for range 8 {
		ok[galley.Route](t)(client.Routes.Create(t.Context(), galley.RouteCreate{SiteID: s.id, Pathname: escaped(s.pathname())}, galley.RouteRef{}))
	}
	ids := s.createPages(pages)
	s.createRedirects(pages / 5)
	ok[galley.Publish](t)(client.Sites.Publish(t.Context(), s.id, galley.PublishCreate{}))
	s.edit(ids)
	return s
}

// pick is one of several values.
func (s *randomSite) pick(from ...string) string { return from[s.rng.IntN(len(from))] }

// segment is a part of a pathname, often an awkward one.
func (s *randomSite) segment() string {
	return s.pick("about", "About", "à-propos", "ÉTÉ", "straße", "日本語", "100%", "%41", "a b", ".well-known", "con", "index", "v1.2", "a.yaml", "b.fr.json",
		"~x", "é"+strings.Repeat("é", 120), "news", "blog", "team", "Ünïcode", "a:b", "q'\"<>|*", "...") + s.pick("", fmt.Sprint(s.rng.IntN(1000)))
}

// pathname is one that nothing has yet.
func (s *randomSite) pathname() string {
	for {
		segments := []string{s.segment()}
		for s.rng.IntN(2) == 0 && len(segments) < 4 {
			segments = append(segments, s.segment())
		}
		if p := "/" + strings.Join(segments, "/"); !s.taken[p] {
			s.taken[p] = true
			return p
		}
	}
}

func (s *randomSite) text() string {
	return s.pick("", "About us", "no", "12", " leading", "a: b # c", "two\nlines\n", "\"quoted\" 'text'", "Été – 日本 😀", "null", "\u2028\u00a0", "<b>&amp;</b>", "- item", "\t") +
		s.pick("", " ", fmt.Sprint(s.rng.IntN(100)))
}

func (s *randomSite) content() json.RawMessage {
	return json.RawMessage(s.pick(`{}`, `[]`, `{"n":0.10,"e":1E5,"big":12345678901234567890,"s":"<é\u00e9/\/>","a":[1,{"b":null}]}`,
		`[{"type":"hero","text":"été"}]`, fmt.Sprintf(`{"z":%d,"a":true}`, s.rng.IntN(1000))))
}

// values are some fields of a page, in the default locale or in another.
func (s *randomSite) values(localized bool) galley.PageValues {
	var v galley.PageValues
	maybe := func(n int, set func()) {
		if s.rng.IntN(n) == 0 {
			set()
		}
	}
	maybe(2, func() { v.Title = galley.Value(s.text()) })
	maybe(3, func() { v.Description = galley.Value(s.text()) })
	maybe(4, func() { v.CanonicalURL = galley.Value("https://www.example.com/?a=" + fmt.Sprint(s.rng.IntN(9))) })
	maybe(5, func() { v.SocialImageURL = galley.Value("https://cdn.example.com/é.png") })
	maybe(4, func() { v.SitemapPriority = galley.Value(float64(s.rng.IntN(11)) / 10) })
	maybe(4, func() { v.SitemapFrequency = galley.Value(galley.Frequency(s.pick("daily", "never"))) })
	maybe(4, func() { v.IsOnline = galley.Value(s.rng.IntN(2) == 0) })
	maybe(4, func() { v.ExcludedFromSearchEngines = galley.Value(s.rng.IntN(2) == 0) })
	maybe(2, func() { v.Content = galley.Value(s.content()) })
	if localized {
		maybe(2, func() { v.Pathname = galley.Value(escaped(s.pathname())) })
	} else {
		maybe(5, func() { v.Name = galley.Value(s.pick("A name", "no", "Été")) })
	}
	return v
}

// escaped is a pathname as a request has it.
func escaped(pathname string) string { return strings.ReplaceAll(pathname, "%", "%25") }

func (s *randomSite) createPages(n int) []string {
	var operations []galley.PageOperation
	for i := range n {
		pathname := "/"
		if i > 0 {
			pathname = s.pathname()
		}
		op := galley.PageOperation{Op: "create", PageValues: s.values(false), Localizations: map[string]galley.PageValues{}}
		op.Pathname = galley.Value(escaped(pathname))
		for _, code := range s.codes {
			if s.rng.IntN(3) == 0 {
				op.Localizations[code] = s.values(true)
			}
		}
		operations = append(operations, op)
	}
	var ids []string
	for len(operations) > 0 {
		some := operations[:min(len(operations), 500)]
		operations = operations[len(some):]
		for _, result := range ok[galley.PageBatchResult](s.t)(s.client.Pages.Batch(s.t.Context(), galley.PageBatch{SiteID: s.id, Operations: some})).Results {
			ids = append(ids, result.ID)
		}
	}
	return ids
}

func (s *randomSite) createRedirects(n int) {
	batch := galley.RedirectBatch{SiteID: s.id}
	for i := range n {
		op := galley.RedirectOperation{Op: "create"}
		op.Source = galley.Value(strings.ReplaceAll(escaped(s.pathname()), "*", "+"))
		op.Target = galley.Value(s.pick("/", "https://example.org/?q=1", "/gone%2541"))
		if i%3 == 0 {
			op.Source, op.Target = galley.Value(fmt.Sprintf("/old-%d/*", i)), galley.Value(s.pick("/new/*", "https://example.org/*"))
		}
		if i%2 == 0 {
			op.Locale = galley.Value(s.pick(append(s.codes, "en-GB")...))
		}
		if i%4 == 0 {
			op.Status = galley.Value(302)
		}
		batch.Operations = append(batch.Operations, op)
	}
	ok[galley.RedirectBatchResult](s.t)(s.client.Redirects.Batch(s.t.Context(), batch))
}

// edit changes, moves and deletes some of the pages, and publishes, so that the site has
// automatic redirects, and then changes some again.
func (s *randomSite) edit(ids []string) {
	for _, publish := range []bool{true, false} {
		batch := galley.PageBatch{SiteID: s.id}
		var left []string
		for _, id := range ids {
			switch s.rng.IntN(8) {
			case 0:
				batch.Operations = append(batch.Operations, galley.PageOperation{Op: "delete", PageID: id})
				continue
			case 1:
				op := galley.PageOperation{Op: "update", PageID: id, PageValues: s.values(false)}
				op.Pathname = galley.Value(escaped(s.pathname()))
				batch.Operations = append(batch.Operations, op)
			case 2:
				batch.Operations = append(batch.Operations, galley.PageOperation{Op: "update", PageID: id, Locale: s.pick(s.codes...), PageValues: s.values(true)})
			}
			left = append(left, id)
		}
		if ids = left; len(batch.Operations) > 0 {
			ok[galley.PageBatchResult](s.t)(s.client.Pages.Batch(s.t.Context(), batch))
		}
		if publish {
			ok[galley.Publish](s.t)(s.client.Sites.Publish(s.t.Context(), s.id, galley.PublishCreate{Confirm: true}))
		}
	}
}
