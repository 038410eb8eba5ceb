package main_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"

	galley "galley/sdk/go"
)

var workflow = regexp.MustCompile("(?s)```yaml\n(.*?\n)```\n\n")

// TestGitDocument runs every command of docs/git.md in order and compares what they print,
// and then the steps of its workflow.
func TestGitDocument(t *testing.T) {
	t.Parallel()
	const file = "../../docs/git.md"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	server := serve(t, nil)
	s := newShell(t, server)
	s.env = append(s.env, asClient(t, server)...)
	normal, commands := newNormalizer(s), 0
	rewritten := shown.ReplaceAllStringFunc(string(text), func(block string) string {
		commands++
		parts := shown.FindStringSubmatch(block)
		got := normal.text(s.script(t, parts[1]))
		if diff := cmp.Diff(parts[2], got); diff != "" && !*updateClient {
			t.Errorf("%s prints something else (-document +program):\n%s", parts[1], diff)
		}
		return "```sh\n" + parts[1] + "```\n```text\n" + got + "```\n"
	})
	if commands != 3 {
		t.Errorf("%d blocks of commands", commands)
	}
	if *updateClient {
		if err := os.WriteFile(file, []byte(rewritten), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	var recipe struct {
		Jobs map[string]struct {
			Steps []struct{ Run string }
		}
	}
	parts := workflow.FindStringSubmatch(rewritten)
	if parts == nil {
		t.Fatal("the document has no workflow")
	}
	if err := yaml.Unmarshal([]byte(parts[1]), &recipe); err != nil {
		t.Fatal(err)
	}
	title := filepath.Join(s.home, "site/pages/about.yaml")
	if err := os.WriteFile(title, []byte("pathname: /about\ntitle: From a pull request\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	summary := filepath.Join(s.home, "summary.md")
	s.env = append(s.env, "GITHUB_STEP_SUMMARY="+summary)
	site := ok[galley.List[galley.Site]](t)(newClient(t, server).Sites.List(t.Context(), galley.SiteQuery{})).Data[0].ID
	for _, job := range []struct {
		name   string
		scopes []string
	}{{"plan", []string{"read"}}, {"apply", []string{"read", "write", "publish"}}} {
		app := ok[galley.AppWithKey](t)(newClient(t, server).Apps.Create(t.Context(), galley.AppCreate{Name: "CI", Scopes: job.scopes, SiteIDs: galley.Value([]string{site})}))
		s.env = append(s.env, "GALLEY_KEY="+app.Key)
		for _, step := range recipe.Jobs[job.name].Steps {
			if step.Run != "" {
				s.script(t, step.Run)
			}
		}
	}
	shownPlan, err := os.ReadFile(summary)
	if err != nil || !strings.HasPrefix(string(shownPlan), "```diff\n~ page /about\n    title: \"Who we are\" -> \"From a pull request\"\n") {
		t.Errorf("%v\n%s", err, shownPlan)
	}
	if out := s.script(t, "galley plan site --site Shop; galley pages get /about --site Shop --version ref:live --output json"); !strings.HasPrefix(out, nothingToDo) ||
		!strings.Contains(out, `"title":"From a pull request"`) {
		t.Error(out)
	}
}
