package main_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// The calls are there to be pasted, one after the other.
func TestCallsOfTheEventsDocumentWork(t *testing.T) {
	t.Parallel()
	server := serve(t, nil)
	var script strings.Builder
	for _, parts := range block.FindAllStringSubmatch(readDocument(t, "../../docs/events.md"), -1) {
		script.WriteString(parts[2])
	}
	cmd := exec.Command("sh", "-e", "-c", script.String())
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "KEY="+server.key(t), "URL="+server.url)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(lines) != 9 || !strings.HasPrefix(lines[0], `["site.created"`) || !strings.HasSuffix(lines[2], `"ada@example.com",["title"]]`) ||
		strings.Join(lines[3:], " ") != "event: publish.published page.created page.updated publish.published build the site once for 1 publish About us" {
		t.Errorf("got\n%s", out)
	}
}
