package httpapi

import (
	"math/rand/v2"
	"testing"
	"time"
)

// Times are shown in UTC, to the millisecond, with all three digits.
func TestTimesAreShownToTheMillisecond(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	elsewhere := time.FixedZone("elsewhere", -5*60*60-30*60)
	for range 2000 {
		at := time.Unix(r.Int64N(1<<33), r.Int64N(1e9)).In(elsewhere)
		if got, want := string(newTimestamp(at)), at.UTC().Format("2006-01-02T15:04:05.000Z"); got != want {
			t.Fatalf("%s is shown as %s", want, got)
		}
	}
}

// A batch shows its pages as a page's own address does, whatever is in them.
func TestBatchEncodesItsPages(t *testing.T) {
	page := Page{Object: "page", Name: "<b>&\u2028", Localizations: []PageLocalization{}}
	one := encode(page)
	want := `{"object":"batch","results":[` + string(one[:len(one)-1]) + "]}\n"
	if got := string(encode(Batch{"batch", []PageResult{page}})); got != want {
		t.Errorf("a batch is encoded as\n%swant\n%s", got, want)
	}
}
