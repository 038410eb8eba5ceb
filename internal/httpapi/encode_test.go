package httpapi

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"galley/internal/cms"
	"galley/internal/service"
)

// Pages are written by hand, byte for byte as the standard library would.
func TestEncodeIsLikeTheStandardLibrary(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	standard := func(value any) string {
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(value); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	for range 2000 {
		var p Page
		fillAtRandom(r, reflect.ValueOf(&p).Elem())
		if got, want := string(encode(p)), standard(p); got != want {
			t.Fatalf("a page is written\n%sinstead of\n%s", got, want)
		}
		list := List[Page]{"list", []Page{p, p}, r.IntN(2) == 0}
		item := strings.TrimSpace(string(encode(p)))
		if got, want := string(joinList([]string{item, item}, list.HasMore)), standard(list); got != want {
			t.Fatalf("a list is written\n%sinstead of\n%s", got, want)
		}
		gone := DeletedPage{"page", p.ID, true}
		batch := Batch{"batch", []PageResult{{p}, {gone}}}
		want := `{"object":"batch","results":[` + strings.TrimSpace(standard(p)) + "," + strings.TrimSpace(standard(gone)) + "]}\n"
		if got := string(encode(batch)); got != want {
			t.Fatalf("a batch is written\n%sinstead of\n%s", got, want)
		}
	}
	if got := string(joinList(nil, false)); got != `{"object":"list","data":[],"hasMore":false}`+"\n" {
		t.Errorf("an empty list is written %s", got)
	}
}

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

// fillAtRandom gives every field of a wire type some value, pointers sometimes
// none.
func fillAtRandom(r *rand.Rand, v reflect.Value) {
	pieces := []string{"a", "Über uns", `"`, `\`, "/", "<b>&", "\n", "\t", "\x00", "\x1f", "\x7f", "\u2028", "\u2029", "\ufffd", "\xff", "☃", "𝄞", " "}
	switch {
	case v.Type() == reflect.TypeFor[cms.ID]():
		v.Set(reflect.ValueOf(cms.NewID()))
	case v.Kind() == reflect.Pointer:
		if r.IntN(3) > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			fillAtRandom(r, v.Elem())
		}
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			fillAtRandom(r, v.Field(i))
		}
	case v.Kind() == reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), r.IntN(3), 3))
		for i := range v.Len() {
			fillAtRandom(r, v.Index(i))
		}
	case v.Kind() == reflect.String:
		var text strings.Builder
		for range r.IntN(4) {
			text.WriteString(pieces[r.IntN(len(pieces))])
		}
		v.SetString(text.String())
	case v.Kind() == reflect.Bool:
		v.SetBool(r.IntN(2) == 0)
	case v.Kind() == reflect.Float64:
		v.SetFloat([]float64{0, 1, 0.5, 0.1, 1e-7, r.Float64()}[r.IntN(6)])
	default:
		panic("no value for " + v.Type().String())
	}
}

func BenchmarkEncodePage(b *testing.B) {
	var p Page
	fillAtRandom(rand.New(rand.NewPCG(1, 2)), reflect.ValueOf(&p).Elem())
	p.Name, p.Title, p.Description = "Words of a title", new("Words of a title"), new(strings.Repeat("and of a description ", 10))
	type plain Page
	b.Run("by hand", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			encode(p)
		}
	})
	b.Run("by the standard library", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			encode(plain(p))
		}
	})
}

// BenchmarkEntityTag is what a tag costs of an answer as long as a page's, and a
// list's of twenty.
func BenchmarkEntityTag(b *testing.B) {
	for name, length := range map[string]int{"page": 600, "list": 11_000} {
		text := []byte(strings.Repeat("x", length))
		b.Run(name, func(b *testing.B) {
			r := &request{who: service.Caller{App: &cms.App{}}}
			for b.Loop() {
				r.tagOf(text)
			}
		})
		b.Run(name+" by SHA-256", func(b *testing.B) {
			for b.Loop() {
				sha256.Sum256(text)
			}
		})
	}
}
