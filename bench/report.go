package main

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"
	"time"
)

// report has the figures of this run, and of earlier ones those that this run
// did not measure.
type report struct {
	Comparison *comparison `json:"comparison,omitempty"`
	Big        *big        `json:"big,omitempty"`
	Growth     *growth     `json:"growth,omitempty"`
}

func (c *comparison) verdicts() (all []verdict) {
	for _, op := range operations {
		for _, t := range targetsOf(op) {
			of := figure.rate
			if t.metric == cpu {
				of = figure.cpu
			}
			if t.against == "" {
				all = append(all, t.judge(c.Rounds.values(op.name, t.who, of))...)
			} else {
				all = append(all, t.judge(c.Rounds.ratios(op.name, t.who, t.against, of))...)
			}
		}
	}
	return append(all, judgeMemory(c.Memory)...)
}

func (f figure) rate() float64 { return f.Rate }
func (f figure) cpu() float64  { return float64(f.CPU) }

func (r *report) verdicts() (all []verdict) {
	if r.Comparison != nil {
		all = r.Comparison.verdicts()
	}
	if r.Big != nil {
		all = append(all, r.Big.verdicts()...)
	}
	if r.Growth != nil {
		all = append(all, r.Growth.verdicts()...)
	}
	return all
}

// Where the report is kept: the figures, and what is rendered from them.
const (
	docsFolder = "docs"
	reportName = "benchmarks"
)

// readReport reads the figures in a folder; there need not be any.
func readReport(folder string) (r report) {
	text, err := os.ReadFile(filepath.Join(folder, reportName+".json"))
	if !errors.Is(err, fs.ErrNotExist) {
		check(errors.Join(err, json.Unmarshal(text, &r)))
	}
	return r
}

// write keeps the figures in a folder and renders them.
func (r *report) write(folder string) {
	files := map[string]string{".json": string(must(json.MarshalIndent(r, "", "  "))) + "\n", ".md": r.markdown()}
	if r.Comparison != nil {
		files[".svg"] = r.Comparison.chart()
	}
	for ending, content := range files {
		check(os.WriteFile(filepath.Join(folder, reportName+ending), []byte(content), 0o644))
	}
}

// reportFolder is where this run's report goes; "" is nowhere. What was
// measured roughly never replaces what was measured well.
func reportFolder(asked string, rough bool) string {
	if asked == "" && rough {
		return ""
	}
	asked = cmp.Or(asked, docsFolder)
	folder := must(os.Stat(asked)) // better now than after half an hour
	docs, err := os.Stat(docsFolder)
	if rough && err == nil && os.SameFile(docs, folder) {
		check(fmt.Errorf("a run with --force or --quick writes no report to %s: name another folder", docsFolder))
	}
	return asked
}

// results are the figures of every round, by operation and contestant.
type results[F any] []map[string]map[string]F

func (r results[F]) add(round int, operation, who string, f F) results[F] {
	for len(r) <= round {
		r = append(r, map[string]map[string]F{})
	}
	if r[round][operation] == nil {
		r[round][operation] = map[string]F{}
	}
	r[round][operation][who] = f
	return r
}

// values are those of every round that has a figure.
func (r results[F]) values(operation, who string, of func(F) float64) (values []float64) {
	for _, round := range r {
		if f, ok := round[operation][who]; ok {
			values = append(values, of(f))
		}
	}
	return values
}

// ratios compare with another contestant, or with another operation of the same
// one. Each is of one round, so that what slowed one round slowed both.
func (r results[F]) ratios(operation, who, against string, of func(F) float64) (values []float64) {
	for _, round := range r {
		f, ok := round[operation][who]
		other, also := round[operation][against]
		if !also {
			other, also = round[against][who]
		}
		if ok && also {
			values = append(values, of(f)/of(other))
		}
	}
	return values
}

// median is the middle one of some values, of which there is at least one.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

//go:embed report.md.tmpl
var reportText string

var reportTemplate = template.Must(template.New("report").Funcs(template.FuncMap{
	"count":      count,
	"maxForeign": func() float64 { return maxForeign },
	"maxStolen":  func() float64 { return maxStolen },
	"percent":    func(share float64) string { return fmt.Sprintf("%.0f %%", 100*share) },
	"rounds":     func(r results[figure]) string { return sized(len(r), "rounds") },
	"metrics":    func() []growthMetric { return growthMetrics },
	"gigabytes":  func(bytes int64) string { return fmt.Sprintf("%.0f GB", float64(bytes)/1e9) },
}).Parse(reportText))

// markdown is the report for people.
func (r *report) markdown() string {
	var b strings.Builder
	check(reportTemplate.Execute(&b, r))
	return b.String()
}

// Rough reports whether something was measured in a hurry or on a busy machine.
func (r *report) Rough() bool {
	return r.Comparison != nil && r.Comparison.Origin.Rough || r.Big != nil && r.Big.Origin.Rough ||
		r.Growth != nil && r.Growth.Origin.Rough
}

// Targets is a table of targets and results.
func (r *report) Targets() *table {
	t := &table{words: 6, header: []string{"What", "Who", "Compared with", "Target", "Got", "Met"}}
	for _, s := range summarize(r.verdicts()) {
		met := "yes"
		if yes, failures := s.met(); failures != "" {
			met = "**no**: " + failures
		} else if !yes {
			met = "**no**"
		}
		t.add(fmt.Sprintf("%s: %s", s.kind, s.metric), s.who, s.against, s.bound(), s.got(), met)
	}
	return t
}

// allContestants is the order of the contestants in tables.
var allContestants = []string{onSQLite, sqliteUncached, onPostgres, postgresUncached, peer, bareLimit}

// OperationTable has the medians of all contestants and operations.
func (c *comparison) OperationTable() *table {
	t := &table{words: 2, header: []string{"Operation", "Who", "Rate", "CPU, service", "CPU, database", "p50", "p99"}}
	for _, op := range operations {
		name := op.name
		for _, who := range allContestants {
			rates := c.Rounds.values(op.name, who, figure.rate)
			if len(rates) == 0 {
				continue
			}
			t.add(append([]string{name, who, rateText(median(rates))}, medians(c.Rounds, op.name, who,
				func(f figure) time.Duration { return f.CPU }, func(f figure) time.Duration { return f.Database },
				func(f figure) time.Duration { return f.P50 }, func(f figure) time.Duration { return f.P99 })...)...)
			name = "" // it is said once
		}
	}
	return t
}

// medians writes the medians of durations in all rounds.
func medians[F any](r results[F], operation, who string, durations ...func(F) time.Duration) (cells []string) {
	for _, of := range durations {
		values := r.values(operation, who, func(f F) float64 { return float64(of(f)) })
		cells = append(cells, durationText(time.Duration(median(values))))
	}
	return cells
}

// MemoryTable has the memory of all contestants.
func (c *comparison) MemoryTable() *table {
	t := &table{words: 1, header: []string{"Who", "After start", "After all operations"}}
	for _, who := range allContestants {
		if m, ok := c.Memory[who]; ok {
			t.add(who, bytesText(m.Idle), bytesText(m.Loaded))
		}
	}
	return t
}

// Table has the medians of big work.
func (b *big) Table() *table {
	t := &table{words: 2, header: []string{"Work", "Who", "Time", "Pages a second", "Rows a second", "Readers' p50, before", "during", "p99, before", "during"}}
	for _, work := range bigWork {
		for _, who := range allContestants {
			rates := b.Rounds.values(work, who, bigFigure.rate)
			if len(rates) == 0 {
				continue
			}
			cells := medians(b.Rounds, work, who, func(f bigFigure) time.Duration { return f.Took },
				func(f bigFigure) time.Duration { return f.Usual.P50 }, func(f bigFigure) time.Duration { return f.During.P50 },
				func(f bigFigure) time.Duration { return f.Usual.P99 }, func(f bigFigure) time.Duration { return f.During.P99 })
			rows := median(b.Rounds.values(work, who, bigFigure.rowRate))
			t.add(append([]string{b.title(work), who, cells[0], digits(median(rates)), digits(rows)}, cells[1:]...)...)
		}
	}
	return t
}

// Table has a figure at every size, with its ratio to the one at the base;
// ratios that are too high stand out.
func (c curve) Table(of func(figure) time.Duration) *table {
	t := &table{words: 1, header: []string{"Operation"}}
	for _, l := range c.Levels {
		t.header = append(t.header, sized(l.Size, c.Of))
	}
	for _, op := range growthOperations {
		if _, ok := c.Levels[0].Figures[op.name]; !ok {
			continue
		}
		row := []string{op.name}
		for _, l := range c.Levels {
			cell := durationText(of(l.Figures[op.name]))
			if r, ok := c.ratio(l, op.name, of); ok && l.Size != c.Base {
				text := ratioText(r)
				if l.Size > c.Base && r > maxGrowth {
					text = "**" + text + "**"
				}
				cell += " (" + text + ")"
			}
			row = append(row, cell)
		}
		t.add(row...)
	}
	return t
}
