package client

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	"github.com/rivo/uniseg"
	"pgregory.net/rapid"
)

// document draws a JSON value with texts that YAML could take for something else.
func document(t *rapid.T, depth int) any {
	text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{
		"", " ", "yes", "null", "~", "1e3", "0x10", "2030-01-31", "- a", "a: b", "#", "a\nb\n", " a\n  b", "a \n", "\ttab", "\"", "'", "|", ">", "é☕", "\u2028", "%x", "@", "`", "a\r\nb", "\u0000", "---", "<<", "12345678-1234-1234-1234-123456789012",
	}))
	if depth == 0 {
		return rapid.OneOf(
			rapid.Custom(func(t *rapid.T) any { return text.Draw(t, "text") }),
			rapid.SampledFrom([]any{nil, true, false, 0.0, -1.5, 0.1, 1e-7, 12345678901.0}),
		).Draw(t, "value")
	}
	switch rapid.IntRange(0, 2).Draw(t, "kind") {
	case 0:
		object := map[string]any{}
		for range rapid.IntRange(0, 3).Draw(t, "fields") {
			object[text.Draw(t, "name")] = document(t, depth-1)
		}
		return object
	case 1:
		list := []any{}
		for range rapid.IntRange(0, 3).Draw(t, "items") {
			list = append(list, document(t, depth-1))
		}
		return list
	}
	return document(t, 0)
}

func TestYAMLIsTheSameValueAsJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := map[string]any{"object": document(t, 3)}
		text, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		s := &Session{Terminal: &Terminal{Out: &out}, output: "yaml"}
		if err := s.Show(text); err != nil {
			t.Fatal(err)
		}
		var got any
		if err := yaml.Unmarshal(out.Bytes(), &got); err != nil {
			t.Fatalf("%v in\n%s", err, out.String())
		}
		again, err := json.Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		var want, have any
		if json.Unmarshal(text, &want) != nil || json.Unmarshal(again, &have) != nil {
			t.Fatal("no JSON")
		}
		if diff := cmp.Diff(want, have); diff != "" {
			t.Errorf("(-JSON +YAML)\n%s\n%s", diff, out.String())
		}
	})
}

func TestTablesFitEveryTerminal(t *testing.T) {
	const id = "01980a5c-7d3e-7f00-8a3b-5f0d4c1e2a6b"
	rows := [][]string{
		{"ID", "NAME", "URL", "UPDATED"},
		{id, strings.Repeat("語", 30), "https://example.com/a/long/address", "2030-01-31 12:00"},
		{id, "e\u0301te\u0301 👩‍👩‍👧", "-", "-"},
	}
	for width := range 200 {
		table := layOut(rows, width)
		for line := range strings.Lines(table) {
			shown := uniseg.StringWidth(strings.TrimSuffix(line, "\n"))
			if width > len(id) && shown > width || strings.Contains(line, id[:8]) && !strings.Contains(line, id) {
				t.Errorf("at width %d: %d wide, %q", width, shown, line)
			}
		}
		if width > 110 && strings.Contains(table, "…") == (width >= 152) {
			t.Errorf("at width %d:\n%s", width, table)
		}
	}
}
