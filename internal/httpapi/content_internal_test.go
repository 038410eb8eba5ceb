package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"galley/internal/cms"
)

func TestParseContent(t *testing.T) {
	deep := func(n int) string { return strings.Repeat(`{"a":`, n-1) + `[]` + strings.Repeat(`}`, n-1) }
	for text, want := range map[string]string{
		` {"a" : 1E400} `:                      `{"a":1E400}`,
		`[1e-999,0.10]`:                        `[1e-999,0.10]`,
		deep(100):                              deep(100),
		deep(101):                              "body: must not be nested deeper than 100 levels",
		deep(20000):                            "body: must not be nested deeper than 100 levels",
		`1`:                                    "body: " + mustBeContent,
		`null`:                                 "body: " + mustBeContent,
		`"a"`:                                  "body: " + mustBeContent,
		``:                                     "body: " + mustBeContent,
		" \n":                                  "body: " + mustBeContent,
		"\ufeff{}":                             "body: " + mustBeContent,
		`{"a"`:                                 "body: must be valid JSON in UTF-8",
		`[1,]`:                                 "body: must be valid JSON in UTF-8",
		`[01]`:                                 "body: must be valid JSON in UTF-8",
		`[NaN]`:                                "body: must be valid JSON in UTF-8",
		`["` + "\xff\"]":                       "body: must be valid JSON in UTF-8",
		`["\ud800"]`:                           "body: must be valid JSON in UTF-8",
		`{"\udc00":1}`:                         "body: must be valid JSON in UTF-8",
		"[\"\n\"]":                             "body: must be valid JSON in UTF-8",
		`{} {}`:                                "body: must be a JSON object or array and nothing after it",
		`{}x`:                                  "body: must be valid JSON in UTF-8",
		`{"a":1,"a":1}`:                        "a: must be given once",
		`{"a":1,"\u0061":1,"b":{"c":1,"c":2}}`: "a: must be given once; b.c: must be given once",
		`[[{"a":1,"a":2}]]`:                    "[0][0].a: must be given once",
		`["` + strings.Repeat("a", 97) + `"]`:  "body: must not be larger than 100 bytes",
	} {
		most := int64(1 << 20)
		if strings.HasSuffix(want, "bytes") {
			most = 100
		}
		var p cms.Problems
		content := parseContent(&p, "body", []byte(text), most)
		got := ""
		if content != nil {
			got = string(content.Value)
		}
		if e, ok := errors.AsType[*cms.Error](p.Err()); ok {
			var details []string
			for _, d := range e.Details {
				details = append(details, d.Field+": "+d.Message)
			}
			got = strings.Join(details, "; ")
		}
		if got != want {
			t.Errorf("%.60s: got %s, want %s", text, got, want)
		}
	}
}

// FuzzParseContent compares with encoding/json what is kept of a content.
func FuzzParseContent(f *testing.F) {
	for _, text := range []string{`{}`, ` [ "a \\" , "\\\"" ] `, `{"a":[1e5,{"b":null}]}`, `{"a":1,"a":2}`, "[\"\\ud800\"]", `"x"`, `[[[`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var p cms.Problems
		content := parseContent(&p, "body", text, 1<<20)
		if (content == nil) == (p.Err() == nil) {
			t.Fatalf("%q: %v, %v", text, content, p.Err())
		}
		if content == nil {
			return
		}
		var want bytes.Buffer
		if err := json.Compact(&want, text); err != nil || !bytes.Equal(want.Bytes(), content.Value) {
			t.Fatalf("%q became %q, %v", text, content.Value, err)
		}
	})
}

// apply applies a patch as RFC 6902 says.
func apply(t *testing.T, document any, patch []PatchOperation) any {
	t.Helper()
	for _, o := range patch {
		var value any
		if o.Op != "remove" {
			value = decode(t, o.Value)
		}
		document = applyAt(t, document, strings.Split(o.Path, "/")[1:], o.Op, value)
	}
	return document
}

func applyAt(t *testing.T, in any, path []string, op string, value any) any {
	t.Helper()
	if len(path) == 0 {
		return value
	}
	name := strings.NewReplacer("~1", "/", "~0", "~").Replace(path[0])
	switch v := in.(type) {
	case map[string]any:
		switch _, there := v[name]; {
		case op != "add" && !there:
			t.Fatalf("%s of %q, which is not there", op, name)
		case len(path) == 1 && op == "remove":
			delete(v, name)
		default:
			v[name] = applyAt(t, v[name], path[1:], op, value)
		}
		return v
	case []any:
		i, err := strconv.Atoi(name)
		if name == "-" {
			i, err = len(v), nil
		}
		if err != nil || i > len(v) || (i == len(v) && (op != "add" || len(path) > 1)) {
			t.Fatalf("%s of item %q of %d", op, name, len(v))
		}
		switch {
		case len(path) == 1 && op == "remove":
			return append(v[:i:i], v[i+1:]...)
		case len(path) == 1 && op == "add":
			return append(v[:i:i], append([]any{value}, v[i:]...)...)
		}
		v[i] = applyAt(t, v[i], path[1:], op, value)
		return v
	}
	t.Fatalf("%s of %q in a %T", op, name, in)
	return nil
}

func decode(t *testing.T, text []byte) any {
	t.Helper()
	value, err := decodeValue(text)
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// randomContent returns a value of some depth from few names and literals, so
// that two of them have much in common.
func randomContent(r *rand.Rand, depth int) any {
	switch n := r.IntN(8); {
	case depth > 0 && n < 3:
		list := []any{}
		for range r.IntN(5) {
			list = append(list, randomContent(r, depth-1))
		}
		return list
	case depth > 0 && n < 6:
		object := map[string]any{}
		for range r.IntN(5) {
			object[[]string{"a", "b", "", "~", "x/y", "~1", "0", "-"}[r.IntN(8)]] = randomContent(r, depth-1)
		}
		return object
	}
	return []any{nil, true, "", "a", "<b>", json.Number("0.1"), json.Number("0.10"), json.Number("1e400")}[r.IntN(8)]
}

func TestDiffOfContentsLeadsFromOneToTheOther(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 5000 {
		from, to := encode([]any{randomContent(r, 4)}), encode([]any{randomContent(r, 4)})
		switch r.IntN(20) {
		case 0:
			from = nil
		case 1:
			to = nil
		}
		patch, err := diffContents(from, to)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := apply(t, decode(t, from), patch), decode(t, to); !reflect.DeepEqual(got, want) {
			t.Fatalf("from %s\nto   %s\ngot  %s\nby   %s", from, to, encode(got), encode(patch))
		}
	}
}

func TestDiffOfContents(t *testing.T) {
	for _, c := range []struct{ from, to, want string }{
		{`{"a":1}`, `{"a":1}`, `[]`},
		{`{"a":0.1}`, `{"a":0.10}`, `[{"op":"replace","path":"/a","value":0.10}]`},
		{`{"a":1,"b":"<"}`, `{"b":"<"}`, `[{"op":"remove","path":"/a"}]`},
		{`{"blocks":[{"t":"b"},{"t":"c"}]}`, `{"blocks":[{"t":"a"},{"t":"b"},{"t":"c"}]}`, `[{"op":"add","path":"/blocks/0","value":{"t":"a"}}]`},
		{`{"a":1}`, `{"a":null}`, `[{"op":"replace","path":"/a","value":null}]`},
		{``, `{"a":1}`, `[{"op":"add","path":"","value":{"a":1}}]`},
		{`{"a":1}`, ``, `[{"op":"add","path":"","value":null}]`},
		{``, ``, `[]`},
	} {
		text := func(s string) []byte {
			if s == "" {
				return nil
			}
			return []byte(s)
		}
		patch, err := diffContents(text(c.from), text(c.to))
		if got := string(bytes.TrimSpace(encode(patch))); err != nil || got != c.want {
			t.Errorf("%s to %s: %s, want %s (%v)", c.from, c.to, got, c.want, err)
		}
	}
}

// A name of half a mebibyte would be repeated for each of its items.
func TestDiffOfContentsIsBounded(t *testing.T) {
	content := func(item string) []byte {
		return fmt.Appendf(nil, `{%q:[%s0]}`, strings.Repeat("n", 512<<10), strings.Repeat(item+",", 200_000))
	}
	patch, err := diffContents(content("0"), content("1"))
	if err != nil || len(patch) != 1 || patch[0].Path != "" || !bytes.Equal(bytes.TrimSpace(patch[0].Value), content("1")) {
		t.Errorf("a patch of %d operations, %v", len(patch), err)
	}
	list := func(item string) []byte { return []byte(`[` + strings.Repeat(item+",", 300_000) + `0]`) }
	patch, err = diffContents(list("0"), list("1"))
	if err != nil || len(patch) != 300_000 {
		t.Errorf("a patch of %d operations, %v", len(patch), err)
	}
}
