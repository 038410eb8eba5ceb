package main_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const securityDocument = "../../docs/security.md"

func readDocument(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var (
	testFunction = regexp.MustCompile(`(?m)^func ((?:Test|Benchmark|Fuzz)\w+)\(`)
	namedTest    = regexp.MustCompile("`((?:Test|Benchmark|Fuzz)\\w+)`")
	threat       = regexp.MustCompile(`(?m)^\|[^|\n]*\|[^|\n]*\|[^|\n]*\|([^|\n]*)\|$`)
)

// A control that nothing proves any more must not stay in the threat model.
func TestEveryControlOfTheThreatModelHasAProof(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	err := filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		for _, m := range testFunction.FindAllStringSubmatch(readDocument(t, path), -1) {
			known[m[1]] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	_, model, found := strings.Cut(readDocument(t, securityDocument), "\n## Threat model\n")
	if !found {
		t.Fatal("there is no threat model")
	}
	rows := threat.FindAllStringSubmatch(model, -1)[2:] // without the head
	if len(rows) < 20 {
		t.Errorf("only %d rows", len(rows))
	}
	for _, row := range rows {
		proofs := namedTest.FindAllStringSubmatch(row[1], -1)
		if len(proofs) == 0 {
			t.Errorf("no test proves %s", row[0])
		}
		for _, proof := range proofs {
			if !known[proof[1]] {
				t.Errorf("there is no test %s", proof[1])
			}
		}
	}
}

var (
	namedFlag     = regexp.MustCompile(`--[a-z][a-z-]*`)
	namedVariable = regexp.MustCompile(`GALLEY_[A-Z_]+`)
)

func TestSettingsOfTheSecurityDocumentExist(t *testing.T) {
	t.Parallel()
	var help strings.Builder
	for _, command := range []string{"serve", "apps create", "apps revoke"} {
		help.WriteString(mustRun(t, nil, append(strings.Fields(command), "--help")...))
	}
	text := readDocument(t, securityDocument)
	names := append(namedFlag.FindAllString(text, -1), namedVariable.FindAllString(text, -1)...)
	if len(names) < 20 {
		t.Errorf("only %d settings are named", len(names))
	}
	for _, name := range names {
		if !regexp.MustCompile(name + `[^\w-]`).MatchString(help.String()) {
			t.Errorf("there is no %s", name)
		}
	}
}

// The calls are there to be pasted.
func TestCallsOfTheSecurityDocumentWork(t *testing.T) {
	t.Parallel()
	server := serve(t, nil)
	shell := newTourShell(t, server)
	calls := 0
	for _, parts := range block.FindAllStringSubmatch(readDocument(t, securityDocument), -1) {
		shell.run(t, parts[2])
		if strings.Contains(shell.answer, `"object":"error"`) {
			t.Errorf("%s\nanswers %s", parts[2], shell.answer)
		}
		calls++
	}
	if calls < 7 {
		t.Errorf("only %d calls were found", calls)
	}
	// In the end the app is revoked, and the site's key shows what is live.
	key := server.key(t)
	server.must(t, 404, key, "GET", "/v2/apps/"+shell.value(t, "APP"), "")
	if access := server.must(t, 200, key, "GET", "/v2/sites/"+shell.value(t, "SITE"), "").field(t, "siteKeyAccess"); access != "live" {
		t.Errorf("siteKeyAccess is %s", access)
	}
}
