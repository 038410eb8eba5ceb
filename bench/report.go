package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
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
func readReport(folder string) (*report, error) {
	text, err := os.ReadFile(filepath.Join(folder, reportName+".json"))
	if errors.Is(err, fs.ErrNotExist) {
		return &report{}, nil
	}
	if err != nil {
		return nil, err
	}
	r := &report{}
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("%s.json in %s: %w", reportName, folder, err)
	}
	return r, nil
}

// write keeps the figures in a folder and renders them.
func (r *report) write(folder string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	page, err := r.markdown()
	if err != nil {
		return err
	}
	files := map[string]string{".json": string(text) + "\n", ".md": page}
	if r.Comparison != nil {
		files[".svg"] = r.Comparison.chart()
	}
	for ending, content := range files {
		if err := os.WriteFile(filepath.Join(folder, reportName+ending), []byte(content), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// reportFolder is where this run's report goes; "" is nowhere. What was
// measured roughly never replaces what was measured well.
func reportFolder(asked string, rough bool) (string, error) {
	if asked == "" && rough {
		return "", nil
	}
	if asked == "" {
		asked = docsFolder
	}
	// Better now than after half an hour.
	folder, err := os.Stat(asked)
	if err != nil {
		return "", err
	}
	docs, err := os.Stat(docsFolder)
	if rough && err == nil && os.SameFile(docs, folder) {
		return "", fmt.Errorf("a run with --force or --quick writes no report to %s: name another folder", docsFolder)
	}
	return asked, nil
}
