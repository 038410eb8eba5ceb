package httpapi

import (
	"fmt"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"galley/internal/cms"
)

// A body may have very much wrong with it. When the service asks for it, in a
// transaction that others wait for, it has been decoded.
func TestBodiesAreDecodedBeforeTheServiceAsks(t *testing.T) {
	const unknown = 10_000
	var body strings.Builder
	for i := range unknown {
		fmt.Fprintf(&body, `"f%d":1,`, i)
	}
	bad := func(locale string) *request {
		r := &request{Request: httptest.NewRequest("PATCH", "/", nil), endpoint: &endpoint{}}
		r.body.raw = []byte("{" + body.String() + `"title":1}`)
		r.Header.Set("Content-Type", "application/json")
		r.query = &query{locale: locale}
		return r
	}
	plain, localized, none := pageInput(bad("")), pageInput(bad("fr")), noFields(bad(""))
	for name, in := range map[string]func() error{
		"a page":             func() error { _, err := plain(false); return err },
		"a page in a locale": func() error { _, err := localized(true); return err },
		"no fields":          none,
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := in()
		runtime.ReadMemStats(&after)
		if err == nil {
			t.Errorf("%s: nothing was wrong with the body", name)
		}
		if allocations := after.Mallocs - before.Mallocs; allocations > unknown {
			t.Errorf("%s: the body was decoded late, with %d allocations", name, allocations)
		}
	}
}

// Sixty-four bodies can be decoded at once. However bad they are, each takes
// little more memory than its text.
func TestBadBodiesTakeLittleMemory(t *testing.T) {
	fill := func(begin, end string, size int, part func(i int) string) []byte {
		var b strings.Builder
		b.WriteString(begin)
		for i := 0; b.Len() < size-len(end)-100; i++ {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(part(i))
		}
		return []byte(b.String() + end)
	}
	unknown := func(i int) string { return fmt.Sprintf(`"f%05d":1`, i) }
	entry := func(i int) string { return fmt.Sprintf(`"%c%c%d":{}`, 'a'+i%26, 'a'+i/26%26, i) }
	const site = `{"siteId":"01980a5c-7d3e-7f00-8a3b-5f0d4c1e2a6b","operations":[`
	for name, test := range map[string]struct {
		raw   []byte
		wire  any
		bound float64 // of what is allocated, in the length of the body
	}{
		"unknown fields":                  {fill(`{`, `}`, mebibyte, unknown), &PagePatch{}, 4},
		"unknown fields of a value":       {fill(`{"title":{`, `}}`, mebibyte, unknown), &PagePatch{}, 8},
		"unknown fields of an operation":  {fill(site+`{`, `}]}`, 8*mebibyte, unknown), &PageBatch{}, 8},
		"operations that are not objects": {fill(site, `]}`, 8*mebibyte, func(int) string { return "0" }), &PageBatch{}, 1},
		"operations of nothing":           {fill(site, `]}`, 8*mebibyte, func(int) string { return "{}" }), &PageBatch{}, 1},
		"too many localizations":          {fill(site+`{"localizations":{`, `}}]}`, 8*mebibyte, entry), &PageBatch{}, 12},
		"many localizations": {fill(site, `]}`, 8*mebibyte, func(int) string {
			return string(fill(`{"localizations":{`, `}}`, 1300, entry))
		}), &PageBatch{}, 24},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			var problems cms.Problems
			runtime.GC()
			runtime.ReadMemStats(&before)
			if err := decodeBody(test.raw, test.wire, &problems); err != nil {
				t.Fatal(err)
			}
			runtime.ReadMemStats(&after)
			allocated := float64(after.TotalAlloc-before.TotalAlloc) / float64(len(test.raw))
			runtime.GC()
			runtime.ReadMemStats(&after)
			kept := (float64(after.HeapAlloc) - float64(before.HeapAlloc)) / float64(len(test.raw))
			t.Logf("allocated %.2f and kept %.2f times the body", allocated, kept)
			if allocated > test.bound || kept > 4 {
				t.Errorf("allocated %.1f and kept %.1f times the body, want %.0f and 4 at most", allocated, kept, test.bound)
			}
			runtime.KeepAlive(test.wire)
			runtime.KeepAlive(&problems)
		})
	}
}
