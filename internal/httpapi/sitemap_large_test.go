package httpapi_test

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"

	"galley/internal/cms"
	"galley/internal/sqlstore"
)

// TestLargeSitemapIsAnIndex has 120,000 pages, which is three parts of at most 50,000
// URLs. The server streams them in bounded memory.
func TestLargeSitemapIsAnIndex(t *testing.T) {
	store, err := sqlstore.OpenSQLite(t.TempDir(), nil)
	s := newSystem(t, store, err)
	const pages = 120_000
	site := s.must(t, 201, "POST", "/v2/sites", `{"name":"Large","hostOrigin":"https://www.example.com"}`).str(t, "id")
	s.fillSite(t, site, pages)
	s.must(t, 201, "POST", "/v2/sites/"+site+"/publish", "")

	index := s.sitemap(t, site, "")
	if len(index.Parts) != 3 || index.Parts[2].Loc != "https://www.example.com/sitemap.xml?part=3" {
		t.Fatalf("the index has %v", index.Parts)
	}
	// What is held counts, and not what the collector has left so far.
	defer debug.SetGCPercent(debug.SetGCPercent(10))
	runtime.GC()
	var before runtime.MemStats
	runtime.ReadMemStats(&before)
	peak := watchHeap(t)
	seen, previous := 0, ""
	for part := 1; part <= 3; part++ {
		n, first, last := s.countURLs(t, fmt.Sprintf("/v2/sites/%s/sitemap.xml?part=%d", site, part))
		if n > 50_000 || first <= previous {
			t.Errorf("part %d has %d URLs, from %s on, after %s", part, n, first, previous)
		}
		seen, previous = seen+n, last
	}
	if seen != pages {
		t.Errorf("the parts have %d URLs", seen)
	}
	if grown := int64(peak()) - int64(before.HeapAlloc); grown > 30<<20 {
		t.Errorf("the heap grew by %d MB, from %d MB", grown>>20, before.HeapAlloc>>20)
	}
	s.must(t, 404, "GET", "/v2/sites/"+site+"/sitemap.xml?part=4", "")
}

// fillSite creates pages /page-0000000 and on.
func (s *system) fillSite(t *testing.T, site string, pages int) {
	t.Helper()
	siteID, _ := cms.ParseID(site)
	const chunk = 5000
	for from := 0; from < pages; from += chunk {
		if err := s.store.InTx(t.Context(), func(tx cms.Tx) error {
			var made []cms.Page
			var claims []cms.Claim
			for i := range chunk {
				now := time.Now().UTC().Truncate(time.Millisecond)
				page := cms.Page{ID: cms.NewID(), SiteID: siteID, CreatedAt: now, UpdatedAt: now}
				page.Pathname, page.IsOnline = fmt.Sprintf("/page-%07d", from+i), true
				made, claims = append(made, page), append(claims, page.Claims(nil)...)
			}
			if err := tx.TakePathnames(t.Context(), siteID, claims); err != nil {
				return err
			}
			return tx.CreatePages(t.Context(), made...)
		}); err != nil {
			t.Fatal(err)
		}
	}
}

// countURLs reads a sitemap as it arrives, and returns how many URLs it has, and the
// first and last.
func (s *system) countURLs(t *testing.T, target string) (n int, first, last string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "GET", s.url+target, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Api-Key", s.key)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != 200 || resp.Header.Get("ETag") == "" {
		t.Fatalf("%s: %d, entity tag %q", target, resp.StatusCode, resp.Header.Get("ETag"))
	}
	decoder := xml.NewDecoder(resp.Body)
	inLoc := false
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return n, first, last
		}
		if err != nil {
			t.Fatal(err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			inLoc = token.Name.Local == "loc"
		case xml.CharData:
			if inLoc && strings.HasPrefix(string(token), "https://") {
				if n++; n == 1 {
					first = string(token)
				}
				last = string(token)
			}
		}
	}
}

// watchHeap reads the size of the heap all the time, until the result is called, which
// returns the largest.
func watchHeap(t *testing.T) (peak func() uint64) {
	t.Helper()
	var most uint64
	var watching sync.WaitGroup
	stop := make(chan struct{})
	watching.Go(func() {
		for {
			var now runtime.MemStats
			runtime.ReadMemStats(&now)
			most = max(most, now.HeapAlloc)
			select {
			case <-stop:
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	})
	return func() uint64 {
		close(stop)
		watching.Wait()
		return most
	}
}
