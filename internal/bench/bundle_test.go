package bench

import (
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"galley/internal/bundle"
	galley "galley/sdk/go"
)

const bundlePages = 10_000

// BenchmarkBundle applies a bundle of 10,000 pages in five locales to an empty site over
// HTTP, plans it again, and exports the site. It tells the seconds of each: run it with
// -benchtime 1x.
func BenchmarkBundle(b *testing.B) {
	onBothEngines(b, func(b *testing.B, f *fixture) {
		server := httptest.NewServer(f.handler)
		b.Cleanup(server.Close)
		client, err := galley.New(server.URL, galley.WithKey(f.key))
		if err != nil {
			b.Fatal(err)
		}
		dir := filepath.Join(b.TempDir(), "site")
		writeBundle(b, dir)
		measured := func(name string, step func() error) {
			b.Helper()
			start := time.Now()
			if err := step(); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(time.Since(start).Seconds(), name+"-s")
		}
		progress := func(string, int, int) {}
		for b.Loop() {
			site, err := client.Sites.Create(b.Context(), galley.SiteCreate{Name: "Empty"})
			if err != nil {
				b.Fatal(err)
			}
			measured("apply", func() error {
				plan, err := bundle.NewPlan(b.Context(), client, site.ID, dir, progress)
				if err != nil {
					return err
				}
				return plan.Apply(b.Context(), false, progress)
			})
			measured("plan", func() error {
				plan, err := bundle.NewPlan(b.Context(), client, site.ID, dir, progress)
				if err == nil && len(plan.Changes) > 0 {
					err = fmt.Errorf("%d changes are left", len(plan.Changes))
				}
				return err
			})
			measured("export", func() error {
				_, err := bundle.Export{Client: client, SiteID: site.ID, Dir: filepath.Join(b.TempDir(), "copy"), Progress: progress}.Run(b.Context())
				return err
			})
			b.ReportMetric(0, "ns/op")
		}
	})
}

// writeBundle writes a bundle as an export would.
func writeBundle(b *testing.B, dir string) {
	b.Helper()
	write := func(name, text string) {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	write("site.yaml", "bundle: 1\nname: Big\ndefaultLocale: en-US\n")
	write("locales.yaml", "- locale: de\n- locale: en-US\n- locale: fr\n- locale: ja\n- locale: pt-BR\n")
	write("routes.yaml", "[]\n")
	write("redirects.yaml", "[]\n")
	text := strings.Repeat("Lorem ipsum dolor sit amet. ", 35)
	for i := range bundlePages {
		name := fmt.Sprintf("section-%d/page-%d", i/100, i)
		page := fmt.Sprintf("pathname: /%s\ntitle: Page %d\ndescription: What page %d is about\nsitemapPriority: 0.5\nlocalizations:\n", name, i, i)
		for _, locale := range []string{"de", "fr", "ja", "pt-BR"} {
			page += fmt.Sprintf("  %s:\n    pathname: /%s/%s\n    title: %s %d\n", locale, locale, name, locale, i)
		}
		write("pages/"+name+".yaml", page)
		write("content/"+name+".en-US.json", fmt.Sprintf("{\n  \"number\": %d,\n  \"text\": %q\n}\n", i, text))
		if i%10 == 0 {
			write("content/"+name+".fr.json", fmt.Sprintf("{\n  \"numéro\": %d,\n  \"text\": %q\n}\n", i, text))
		}
	}
}
