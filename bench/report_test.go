package main

import (
	"encoding/xml"
	"os"
	"path/filepath"
	"slices"
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
	text := sample().markdown()
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
	if text := r.markdown(); !strings.Contains(text, "in a hurry") {
		t.Errorf("a rough report does not say so:\n%s", text)
	}
}

func TestChart(t *testing.T) {
	text := sample().Comparison.chart()
	if err := xml.Unmarshal([]byte(text), new(struct{})); err != nil {
		t.Fatalf("%v in\n%s", err, text)
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
	for _, part := range []report{{Growth: all.Growth}, {Big: all.Big}, {Comparison: all.Comparison}} {
		b.keep(part)
	}
	if got, want := string(must(os.ReadFile(filepath.Join(b.report, "benchmarks.md")))), all.markdown(); got != want {
		t.Errorf("after three runs:\n%s\nwant\n%s", got, want)
	}
	must(os.Stat(filepath.Join(b.report, "benchmarks.svg")))
}

func TestReportFolder(t *testing.T) {
	root, other := t.TempDir(), t.TempDir()
	check(os.Mkdir(filepath.Join(root, docsFolder), 0o700))
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
		var got string
		err := recovered(func() { got = reportFolder(c.asked, c.rough) })
		if got != c.want || (err != nil) != c.fails {
			t.Errorf("%q, rough %t: got %q, %v", c.asked, c.rough, got, err)
		}
	}
}

func TestMedian(t *testing.T) {
	for want, values := range map[float64][]float64{7: {7}, 2: {3, 1}, 5: {9, 1, 5}, 3: {4, 1, 100, 2}} {
		before := slices.Clone(values)
		if got := median(values); got != want || !slices.Equal(before, values) {
			t.Errorf("the median of %v is %v, not %v; they became %v", before, want, got, values)
		}
	}
}

func TestLatencyOf(t *testing.T) {
	var took []time.Duration
	for i := range 200 {
		took = append(took, time.Duration(200-i)) // 1 to 200
	}
	if many, one := latencyOf(took), latencyOf([]time.Duration{5}); many != (latency{101, 199}) || one != (latency{5, 5}) {
		t.Errorf("got %v and %v", many, one)
	}
}

// TestRatiosAreOfOneRound has a round in which all were slow: ratios of
// medians would mix it with another.
func TestRatiosAreOfOneRound(t *testing.T) {
	r := results[figure]{
		{"get": {"a": {Rate: 100}, "b": {Rate: 50}}},
		{"get": {"a": {Rate: 10}, "b": {Rate: 5}}, "list": {"c": {Rate: 20}, "b": {Rate: 20}}},
		{"get": {"a": {Rate: 80}}, "list": {"b": {Rate: 1}}}, // b has no get here
	}
	for name, c := range map[string]struct{ got, want []float64 }{
		"another contestant": {r.ratios("get", "a", "b", figure.rate), []float64{2, 2}},
		"another operation":  {r.ratios("list", "b", "get", figure.rate), []float64{4}},
		"nothing to compare": {r.ratios("list", "c", "get", figure.rate), nil},
		"values":             {r.values("get", "a", figure.rate), []float64{100, 10, 80}},
		"no values":          {r.values("create", "a", figure.rate), nil},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("%s: got %v, want %v", name, c.got, c.want)
		}
	}
}

func TestVerdicts(t *testing.T) {
	most := target{"get", "get by id", onSQLite, cpu, bareLimit, 2, 0}
	least := target{"create", "create", onSQLite, rate, "", 0, 5000}
	for _, c := range []struct {
		target target
		values []float64
		met    bool
		value  float64
	}{
		{most, []float64{9, 2, 1}, true, 2},
		{most, []float64{1, 2.01, 9}, false, 2.01},
		{least, []float64{5000}, true, 5000},
		{least, []float64{4999}, false, 4999},
	} {
		got := c.target.judge(c.values)
		if len(got) != 1 || got[0].value != c.value || got[0].met() != c.met {
			t.Errorf("%v of %v: got %+v", c.values, c.target, got)
		}
	}
	if got := most.judge(nil); got != nil {
		t.Errorf("a target without figures got %v", got)
	}
}

func TestSummaries(t *testing.T) {
	like := func(operation, who string, value float64) verdict {
		return verdict{target{"get", operation, who, cpu, bareLimit, 2, 0}, value}
	}
	all := summarize([]verdict{
		like("by id", onSQLite, 1.5), like("by id", onPostgres, 2.5), like("by pathname", onSQLite, 2.25), like("by pathname", onPostgres, 3),
		like("localized", onSQLite, 1.25),
	})
	if len(all) != 2 {
		t.Fatalf("got %d summaries: %v", len(all), all)
	}
	for i, want := range []string{
		"FAIL  Galley on SQLite, get: CPU a request 1.25 to 2.25 x of bare net/http (at most 2 x; by pathname)",
		"FAIL  Galley on PostgreSQL, get: CPU a request 2.50 to 3.00 x of bare net/http (at most 2 x)",
	} {
		if got := all[i].String(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	met := summarize(judgeMemory(map[string]memory{onPostgres: {Idle: 39_960_000}}))
	if got, want := met[0].String(), "pass  Galley on PostgreSQL, after start: memory when idle 40.0 MB (at most 40 MB)"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestFormats(t *testing.T) {
	for got, want := range map[string]string{
		digits(0):        "0",
		digits(0.0456):   "0.0456",
		digits(0.1):      "0.100",
		digits(9.994):    "9.99",
		digits(9.996):    "10.0",
		digits(14.16):    "14.2",
		digits(99.96):    "100",
		digits(721.4):    "721",
		digits(999.7):    "1,000",
		digits(54383):    "54,400",
		digits(1234567):  "1,230,000",
		digits(999_999):  "1,000,000",
		count(0):         "0",
		count(999):       "999",
		count(1000):      "1,000",
		count(1_000_000): "1,000,000",

		durationText(0):                       "–",
		durationText(14_160):                  "14.2 µs",
		durationText(999_900):                 "1.00 ms",
		durationText(2 * time.Millisecond):    "2.00 ms",
		durationText(1390 * time.Millisecond): "1.39 s",
		durationText(115 * time.Second):       "115 s",
		bytesText(25_480_000):                 "25.5 MB",
		sized(1, ofLocales):                   "1 locale",
		sized(10_000, ofPages):                "10,000 pages",
		progressText(250_000, 1_000_000, 5e3): "250,000 of 1,000,000 pages, 5,000/s, 2m30s to go",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
