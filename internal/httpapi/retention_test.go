package httpapi_test

import (
	"runtime"
	"strings"
	"testing"

	"galley/internal/sqlstore"
)

// Where walks stand is remembered by the thousand. What is remembered of a
// request must not keep all of it.
func TestWalksKeepNothingOfLongRequests(t *testing.T) {
	store, err := sqlstore.OpenSQLite(t.TempDir(), nil)
	s := newSystem(t, store, err)
	site, _ := s.newSite(t)
	const pages = 40
	ids := make([]string, pages)
	for i := range ids {
		ids[i] = s.newPage(t, site, "/p"+strings.Repeat("x", i))
	}
	inUse := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	walk := func(sort, prefix, pad string) {
		for _, id := range ids[:pages-1] {
			s.must(t, 200, "GET", "/v6/pages?siteId="+site+"&limit=1&startingAfter="+id+"&pathPrefix="+prefix+"&sortBy="+sort+"&pad="+pad, "")
		}
	}
	walk("path", "/", "")
	before := inUse()
	pad := strings.Repeat("x", 24<<10)
	asked := 0
	for _, sort := range []string{"path", "createdAt", "updatedAt"} {
		for _, prefix := range []string{"/", "/p", "/px", "/pxx", "/pxxx", "/pxxxx"} {
			walk(sort, prefix, pad)
			asked += pages - 1
		}
	}
	if grown, long := int64(inUse())-int64(before), int64(asked*len(pad)); grown > long/2 {
		t.Errorf("%d requests of %d bytes in all left %d", asked, long, grown)
	}
}
