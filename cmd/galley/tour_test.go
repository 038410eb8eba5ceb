package main_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var updateTour = flag.Bool("update-tour", false, "write the answers of the documents' tours anew")

// block is a fenced block of a document.
var block = regexp.MustCompile("(?s)```(sh|json)\n(.*?)```\n")

// TestTours runs every command of the documents' tours, in order, each against
// a fresh server, and holds each answer against the one printed below it.
func TestTours(t *testing.T) {
	for file, steps := range map[string]int{"README.md": 0, "docs/tour.md": 8, "docs/publishing.md": 8} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			runTour(t, "../../"+file, steps)
		})
	}
}

func runTour(t *testing.T, file string, steps int) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	shell := newTourShell(t, serve(t, nil))
	printed, said := newNames(), newNames()
	commands, answers := 0, 0
	rewritten := block.ReplaceAllStringFunc(string(text), func(fenced string) string {
		parts := block.FindStringSubmatch(fenced)
		if parts[1] == "sh" {
			commands++
			shell.run(t, parts[2])
			return fenced
		}
		answers++
		got := said.stable(t, shell.answer)
		if !*updateTour {
			if diff := cmp.Diff(printed.stable(t, parts[2]), got); diff != "" {
				t.Errorf("answer %d is not what the server says (-document +server):\n%s", answers, diff)
			}
		}
		return "```json\n" + got + "```\n"
	})
	if commands == 0 || commands < steps || answers < steps {
		t.Errorf("%d commands and %d answers: too few to be the whole tour", commands, answers)
	}
	if *updateTour {
		if err := os.WriteFile(file, []byte(rewritten), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// tourShell keeps the variables and functions of the tour from step to step.
type tourShell struct {
	vars   []string // of the running server
	state  string   // a script that sets what the steps so far have set
	answer string
}

func newTourShell(t *testing.T, server *process) *tourShell {
	t.Helper()
	vars := []string{"KEY=" + server.key(t), "URL=" + server.url}
	return &tourShell{vars: vars, state: filepath.Join(t.TempDir(), "state")}
}

var assigned = regexp.MustCompile(`(?m)^([A-Z]+)=\$`)

// run runs a step as it is written, but for the key and the address.
func (s *tourShell) run(t *testing.T, script string) {
	t.Helper()
	script = strings.Replace(script, "KEY=sk_… URL=http://127.0.0.1:8080\n", "", 1)
	keep := "\n{ declare -f; declare -p SHELL"
	for _, name := range assigned.FindAllStringSubmatch(script, -1) {
		keep += " " + name[1]
	}
	script = "set -e -o pipefail; touch " + s.state + "; . " + s.state + "\n" + script + keep + "; } >> " + s.state + "\n"
	cmd := exec.Command("bash", "-c", script)
	cmd.Env = append(os.Environ(), s.vars...)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s\n%v", script, err)
	}
	s.answer = string(out)
}

// value is the value of a variable that a step has set.
func (s *tourShell) value(t *testing.T, name string) string {
	t.Helper()
	s.run(t, "printf %s $"+name+"\n")
	return s.answer
}

var (
	anyID   = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	anyPlan = regexp.MustCompile(`[0-9a-f]{64}`)
	anyTime = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`)
)

// names are the ids and plans met so far, each with the one that stands for it.
type names struct{ ids, plans map[string]string }

func newNames() names { return names{map[string]string{}, map[string]string{}} }

// named is what stands for something: a form with its number among its kind.
func named(known map[string]string, name, form string) string {
	if known[name] == "" {
		known[name] = fmt.Sprintf(form, len(known)+1)
	}
	return known[name]
}

// stable is an answer, indented, with ids and times that are the same in every
// run.
func (n names) stable(t *testing.T, answer string) string {
	t.Helper()
	if strings.TrimSpace(answer) == "" {
		return ""
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, []byte(strings.TrimSpace(answer)), "", "  "); err != nil {
		t.Fatalf("%v in %s", err, answer)
	}
	text := anyID.ReplaceAllStringFunc(indented.String()+"\n", func(id string) string {
		return named(n.ids, id, "01980a5c-7d3e-7f00-8a3b-00000000000%d")
	})
	text = anyPlan.ReplaceAllStringFunc(text, func(plan string) string {
		return named(n.plans, plan, "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a0%d")
	})
	return anyTime.ReplaceAllStringFunc(text, func(moment string) string {
		if strings.HasPrefix(moment, "2100-") {
			return moment // it was asked for
		}
		return "2030-01-31T12:00:00.000Z"
	})
}
