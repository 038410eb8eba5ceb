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

var updateTour = flag.Bool("update-tour", false, "write the answers of the README's tour anew")

const readme = "../../README.md"

// block is a fenced block of the README.
var block = regexp.MustCompile("(?s)```(sh|json)\n(.*?)```\n")

// TestReadmeTour runs every command of the README's tour, in order, against a
// fresh server, and holds each answer against the one printed below it.
func TestReadmeTour(t *testing.T) {
	text, err := os.ReadFile(readme)
	if err != nil {
		t.Fatal(err)
	}
	before, tour, ok := strings.Cut(string(text), "## A tour with curl\n")
	if !ok {
		t.Fatal("the README has no tour")
	}
	tour, after, ok := strings.Cut(tour, "\n## ")
	if !ok {
		t.Fatal("the tour has no end")
	}
	server := serve(t, nil)
	shell := newTourShell(server)
	printed, said := names{}, names{}
	commands, answers := 0, 0
	rewritten := block.ReplaceAllStringFunc(tour, func(fenced string) string {
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
				t.Errorf("the tour's answer %d is not what the server says (-README +server):\n%s", answers, diff)
			}
		}
		return "```json\n" + got + "```\n"
	})
	if commands < 8 || answers < 8 {
		t.Errorf("the tour has %d commands and %d answers: too few to be the whole tour", commands, answers)
	}
	if *updateTour {
		err := os.WriteFile(readme, []byte(before+"## A tour with curl\n"+rewritten+"\n## "+after), 0o600)
		if err != nil {
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

// run runs a step. An exported id stands for the id of the last answer; KEY
// and URL are the running server's.
func (s *tourShell) run(t *testing.T, script string) {
	t.Helper()
	for _, e := range export.FindAllStringSubmatch(script, -1) {
		if e[1] == "KEY" || e[1] == "URL" {
			continue
		}
		var answer struct{ ID string }
		if err := json.Unmarshal([]byte(s.answer), &answer); err != nil {
			t.Fatalf("%s follows an answer without an id: %s", e[0], s.answer)
		}
		s.vars[e[1]] = answer.ID
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
	anyTime = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`)
)

// names are the ids met so far, each with the one that stands for it.
type names map[string]string

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
		if n[id] == "" {
			n[id] = fmt.Sprintf("01980a5c-7d3e-7f00-8a3b-00000000000%d", len(n)+1)
		}
		return n[id]
	})
	return anyTime.ReplaceAllString(text, "2030-01-31T12:00:00.000Z")
}
