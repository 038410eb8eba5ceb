package main_test

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// The calls are there to be pasted, one after the other.
func TestCallsOfThePreviewsDocumentWork(t *testing.T) {
	t.Parallel()
	server := serve(t, nil)
	var script strings.Builder
	for _, parts := range block.FindAllStringSubmatch(readDocument(t, "../../docs/previews.md"), -1) {
		script.WriteString(parts[2])
	}
	cmd := exec.Command("sh", "-e", "-c", script.String())
	cmd.Env = append(os.Environ(), "KEY="+server.key(t), "URL="+server.url)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	printed := regexp.MustCompile(`(?m)^\{.*\n`).ReplaceAllString(string(out), "") // without whole resources
	printed = regexp.MustCompile(`pv_[0-9A-Za-z]{49}`).ReplaceAllString(printed, "pv_…")
	want := "https://www.example.com/blog?preview=pv_…\n/blog\n/blog/first\n/blog/first\n403\nFor the agency\n401\n"
	if printed != want || strings.Contains(string(out), `"object":"error"`) {
		t.Errorf("got\n%s\nwant\n%s", out, want)
	}
}
