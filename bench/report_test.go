package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// sample is a small report with figures of every kind.
func sample() *report {
	o := origin{
		At: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Commit: "0123abcd", Command: "bin/bench",
		Machine: machine{CPU: "Some CPU", Cores: 2, Memory: 24e9, Go: "go1.26.0", Postgres: "15.1", PocketBase: "v0.40.4"},
	}
	c := &comparison{Origin: o, Sites: 100, Pages: 1000, Memory: map[string]memory{onSQLite: {25_500_000, 70_900_000}, peer: {21e6, 81e6}}}
	for round := range 3 {
		add := func(operation, who string, rate float64, cpu time.Duration) {
			c.Rounds = c.Rounds.add(round, operation, who, figure{Rate: rate * float64(round+1), CPU: cpu, latency: latency{P50: cpu * 10, P99: cpu * 20}})
		}
		add("get by id, draft", onSQLite, 10_000, 30_000)
		add("get by id, draft", peer, 2_500, 400_000)
		add("get by id, draft", bareLimit, 20_000, 15_000)
		add(listLive, sqliteUncached, 1_000, 200_000)
		add(listLive, peer, 500, 800_000)
		add("list of 20, localized", sqliteUncached, 900, 240_000)
		add("create", onSQLite, 3_000, 200_000)
		add("create", peer, 500, 900_000)
	}
	done := &big{Origin: c.Origin, Pages: 100_000, Changes: 10_000}
	done.Rounds = done.Rounds.add(0, publishing, onSQLite, bigFigure{10_000, 60_000, 400 * time.Millisecond, latency{1e6, 2e6}, latency{3e6, 12e6}})
	g := &growth{Origin: o, Curves: []curve{grown(ofPages, basePages, map[int]time.Duration{10_000: 200_000, 100_000: 500_000})}}
	g.Origin.Command = "bin/bench --growth"
	return &report{Comparison: c, Big: done, Growth: g}
}

func TestMarkdown(t *testing.T) {
	text, err := sample().markdown()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| get: CPU a request | Galley on SQLite | bare net/http | at most 1.6 x | 2.00 x | **no** |\n",
		"| list of 20: CPU a request | Galley on SQLite, uncached |  | at most 300 µs | 200 µs | yes |\n",
		"| list of 20: CPU a request | Galley on SQLite, uncached | PocketBase | at most 0.2 x | 0.250 x | **no** |\n",
		"| list of 20: CPU a request | Galley on SQLite, uncached | list of 20, live | at most 1.3 x | 1.20 x | yes |\n",
		"| create: requests a second | Galley on SQLite | PocketBase | at least 5 x | 6.00 x | yes |\n",
		"| after start: memory when idle | Galley on SQLite |  | at most 40 MB | 25.5 MB | yes |\n",
		"| publish 10,000 changed pages of 100,000: rows a second | Galley on SQLite |  | at least 20,000/s | 150,000/s | yes |\n",
		"| publish 10,000 changed pages of 100,000: readers' p99 | Galley on SQLite | before | at most 5 x | 6.00 x | **no** |\n",
		"| growth to 100,000 pages: p50 | Galley on SQLite | 10,000 pages | at most 1.5 x | 2.50 x | **no** |\n",
		"| get by id, draft | Galley on SQLite | 20,000/s | 30.0 µs | – | 300 µs | 600 µs |\n|  | PocketBase | 5,000/s |",
		"| PocketBase | 21.0 MB | 81.0 MB |\n",
		"| publish 10,000 changed pages of 100,000 | Galley on SQLite | 400 ms | 25,000 | 150,000 | 1.00 ms | 3.00 ms | 2.00 ms | 12.0 ms |\n",
		"### Galley on SQLite, pages: CPU a request\n\n| Operation | 10,000 pages | 100,000 pages |\n",
		"| create | 200 µs | 500 µs (**2.50 x**) |\n",
		"- `bin/bench` at commit 0123abcd, 2 January 2026, 03:04 UTC\n- 2 cores of Some CPU, 24 GB of memory\n- Galley built with go1.26.0, PocketBase v0.40.4\n- PostgreSQL 15.1,",
		"- `bin/bench --growth` at commit",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the report lacks\n%s", want)
		}
	}
	for _, unwanted := range []string{"\n\n\n", "<no value>", "%!", "in a hurry", "| get by id |"} {
		if strings.Contains(text, unwanted) {
			t.Errorf("the report has %q:\n%s", unwanted, text)
		}
	}
}

func TestRoughReportSaysSo(t *testing.T) {
	r := sample()
	r.Growth.Origin.Rough = true
	if text, err := r.markdown(); err != nil || !strings.Contains(text, "in a hurry") {
		t.Errorf("a rough report looks like any other: %v\n%s", err, text)
	}
}

func TestChart(t *testing.T) {
	text := sample().Comparison.chart()
	decoder := xml.NewDecoder(strings.NewReader(text))
	for {
		_, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
	}
	for _, want := range []string{
		`<rect class="limit" x="240" y="144" width="410.0"`, // the longest of its group
		`<rect class="galley" x="240" y="102" width="205.0"`,
		`<rect class="peer" x="240" y="123" width="51.2"`,
		">40,000/s</text>", ">create</text>",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the chart lacks %s:\n%s", want, text)
		}
	}
}

// TestReportKeepsWhatWasNotMeasured runs a comparison after a growth.
func TestReportKeepsWhatWasNotMeasured(t *testing.T) {
	b := &bench{report: t.TempDir()}
	all := sample()
	for _, part := range []*report{{Growth: all.Growth}, {Big: all.Big}, {Comparison: all.Comparison}} {
		if err := b.keep(part); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(filepath.Join(b.report, "benchmarks.md"))
	if err != nil {
		t.Fatal(err)
	}
	if want, err := all.markdown(); err != nil || string(got) != want {
		t.Errorf("after two runs (%v):\n%s\nwant\n%s", err, got, want)
	}
	if _, err := os.Stat(filepath.Join(b.report, "benchmarks.svg")); err != nil {
		t.Error(err)
	}
}

func TestReportFolder(t *testing.T) {
	root, other := t.TempDir(), t.TempDir()
	if err := os.Mkdir(filepath.Join(root, docsFolder), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Chdir(root)
	for _, c := range []struct {
		asked string
		rough bool
		want  string
		fails bool
	}{
		{"", false, docsFolder, false},
		{"", true, "", false},
		{other, false, other, false},
		{other, true, other, false},
		{docsFolder, true, "", true},
		{root + "/./docs/", true, "", true},
		{other + "/none", true, "", true},
		{other + "/none", false, "", true},
	} {
		got, err := reportFolder(c.asked, c.rough)
		if got != c.want || (err != nil) != c.fails {
			t.Errorf("%q, rough %t: got %q, %v", c.asked, c.rough, got, err)
		}
	}
}
