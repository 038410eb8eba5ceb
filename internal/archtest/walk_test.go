package archtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// walked lists the files of some packages in which a request runs code.
func walked(t *testing.T, profile string, rooms ...string) []string {
	t.Helper()
	var files []string
	for line := range strings.SplitSeq(profile, "\n") {
		name, rest, ok := strings.Cut(line, ":")
		if !ok || strings.HasSuffix(rest, " 0") {
			continue
		}
		room := strings.TrimPrefix(filepath.Dir(name), module+"/internal/")
		if slices.Contains(rooms, room) {
			files = append(files, room+"/"+filepath.Base(name))
		}
	}
	slices.Sort(files)
	return slices.Compact(files)
}

// documented lists the files that a section of ARCHITECTURE.md names in the first
// column of its table.
func documented(t *testing.T, heading string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(text), "\n### "+heading+"\n")
	if !found {
		t.Fatalf("ARCHITECTURE.md has no section %q", heading)
	}
	section, _, _ = strings.Cut(section, "\n#")
	var files []string
	for _, match := range regexp.MustCompile("(?m)^\\| `([a-z]+/[a-z_]+\\.go)` \\|").FindAllStringSubmatch(section, -1) {
		files = append(files, match[1])
	}
	slices.Sort(files)
	return files
}

// ARCHITECTURE.md walks a GET and a PATCH file by file, through the packages that
// have behaviour. Packages cms and ratelimit are not counted: they are rules and
// values that any of the others calls. The requests are sent through a build that
// records which code runs, so that the walks stay true and short.
func TestWalks(t *testing.T) {
	folder := t.TempDir()
	walk := exec.Command("go", "run", "-cover", "-covermode=atomic", "-coverpkg=./internal/...", "./internal/archtest/walk", folder)
	walk.Dir = root
	walk.Env = append(os.Environ(), "GOCOVERDIR="+t.TempDir())
	if out, err := walk.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, request := range []struct {
		name, heading string
		most          int
	}{
		{"GET", "A GET by pathname", 16},
		{"PATCH", "A PATCH", 31},
	} {
		out := filepath.Join(folder, request.name+".txt")
		if text, err := exec.Command("go", "tool", "covdata", "textfmt", "-i", filepath.Join(folder, request.name), "-o", out).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		profile, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		got := walked(t, string(profile), "httpapi", "service", "sqlstore")
		if want := documented(t, request.heading); !slices.Equal(got, want) {
			t.Errorf("%s enters %d files:\n%s\nARCHITECTURE.md walks:\n%s", request.name, len(got), strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		if len(got) > request.most {
			t.Errorf("%s enters %d files, want at most %d", request.name, len(got), request.most)
		}
	}
}
