package main_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
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
	for file, steps := range map[string]int{"README.md": 8, "docs/publishing.md": 8} {
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
	shell := newTourShell(serve(t, nil))
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
	if commands < steps || answers < steps {
		t.Errorf("%d commands and %d answers: too few to be the whole tour", commands, answers)
	}
	if *updateTour {
		if err := os.WriteFile(file, []byte(rewritten), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// tourShell keeps the variables that the tour exports from step to step.
type tourShell struct {
	vars   map[string]string
	answer string
}

func newTourShell(server *process) *tourShell {
	key := regexp.MustCompile(`sk_[0-9A-Za-z]{49}`).FindString(server.stdout.String())
	return &tourShell{vars: map[string]string{"KEY": key, "URL": server.url}}
}

var export = regexp.MustCompile(`(?m)^export ([A-Z]+)=(\S+).*\n`)

// run runs a step. An exported value stands for the id, or the plan, of the
// last answer; KEY and URL are the running server's.
func (s *tourShell) run(t *testing.T, script string) {
	t.Helper()
	for _, e := range export.FindAllStringSubmatch(script, -1) {
		if e[1] == "KEY" || e[1] == "URL" {
			continue
		}
		var answer struct{ ID, Plan string }
		if err := json.Unmarshal([]byte(s.answer), &answer); err != nil {
			t.Fatalf("%s follows an answer without an id: %s", e[0], s.answer)
		}
		s.vars[e[1]] = answer.ID + answer.Plan // an answer has one of them
	}
	script = strings.TrimSpace(export.ReplaceAllString(script, ""))
	if script == "" {
		return
	}
	cmd := exec.Command("sh", "-c", script)
	cmd.Env = os.Environ()
	for name, value := range s.vars {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s\n%v", script, err)
	}
	s.answer = string(out)
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
