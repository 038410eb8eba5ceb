package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"

	"galley/internal/client"
)

// shown is a block of commands with what they print.
var shown = regexp.MustCompile("(?s)```sh\n(.*?)```\n```text\n(.*?)```\n")

// TestCommandLineDocument runs every command of docs/cli.md in order and compares what they
// print.
func TestCommandLineDocument(t *testing.T) {
	t.Parallel()
	const file = "../../docs/cli.md"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	server := serve(t, nil)
	s := newShell(t, server)
	s.file(t, "key.txt", s.vars["KEY"]+"\n")
	normal, commands := newNormalizer(s), 0
	rewritten := shown.ReplaceAllStringFunc(string(text), func(block string) string {
		commands++
		parts := shown.FindStringSubmatch(block)
		got := normal.text(s.script(t, strings.ReplaceAll(parts[1], "http://127.0.0.1:8080", server.url)))
		if diff := cmp.Diff(parts[2], got); diff != "" && !*updateClient {
			t.Errorf("%s prints something else (-document +program):\n%s", parts[1], diff)
		}
		return "```sh\n" + parts[1] + "```\n```text\n" + got + "```\n"
	})
	if commands < 8 {
		t.Errorf("%d blocks of commands: too few to be the whole document", commands)
	}
	if *updateClient {
		if err := os.WriteFile(file, []byte(rewritten), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	parser, err := kong.New(&client.Commands{}, client.FieldTypes)
	if err != nil {
		t.Fatal(err)
	}
	for _, leaf := range parser.Model.Leaves(true) {
		group, verb := leaf.Parent.Path(), leaf.Name
		row := regexp.MustCompile("(?m)^\\|.*`" + group + "`.*\\|.*`" + verb + "`")
		if leaf.Parent.Type == kong.ApplicationNode {
			row = regexp.MustCompile("(?m)^\\|.*`" + verb + "`")
		}
		if !row.MatchString(rewritten) && group != "profiles" {
			t.Errorf("the table of commands does not have %s", leaf.Path())
		}
	}
}

// The first steps in the README work on the command line, too.
func TestCommandLineOfTheReadme(t *testing.T) {
	t.Parallel()
	server := serve(t, nil)
	s := newShell(t, server)
	_, script, _ := strings.Cut(readDocument(t, "../../README.md"), "```bash\n")
	script, _, found := strings.Cut(script, "```")
	if !found {
		t.Fatal("the README has no commands")
	}
	login, rest, _ := strings.Cut(strings.ReplaceAll(script, "http://127.0.0.1:8080", server.url), "\n")
	login, _, _ = strings.Cut(login, "#")
	s.script(t, "echo "+s.vars["KEY"]+" | "+login+"\n"+rest)
	page, err := os.ReadFile(filepath.Join(s.home, "shop", "pages", "about.yaml"))
	if err != nil || !strings.Contains(string(page), "About us") {
		t.Errorf("%v: the bundle has\n%s", err, page)
	}
}

// script runs a block of a document in a shell that finds the program, and returns both of
// its streams.
func (s *shell) script(t *testing.T, script string) string {
	t.Helper()
	cmd := exec.Command("bash", "-e", "-o", "pipefail", "-c", script)
	cmd.Dir = s.home
	cmd.Env = prepare(t, append(s.env, "PATH="+filepath.Dir(binary)+":"+os.Getenv("PATH")), binary).cmd.Env
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s\n%v\n%s", script, err, out)
	}
	return string(out)
}
