package httpapi

import (
	"fmt"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
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
		r := &request{Request: httptest.NewRequest("PATCH", "/", strings.NewReader("{"+body.String()+`"title":1}`)), endpoint: &endpoint{}}
		r.Header.Set("Content-Type", "application/json")
		r.query.locale = locale
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
