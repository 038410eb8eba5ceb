package main_test

import (
	"context"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"
)

// browser finds Chromium.
func browser(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"/usr/bin/chromium", "chromium", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Fatal("this test needs Chromium: run make deps")
	return ""
}

// browse runs Chromium without a window on a page of the server.
func browse(t *testing.T, address string, args ...string) (stdout, stderr string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	profile, err := os.MkdirTemp("", "galley-browser")
	if err != nil {
		t.Fatal(err)
	}
	// Its helpers may write for a moment after it has ended.
	t.Cleanup(func() { _ = os.RemoveAll(profile) })
	args = append([]string{
		"--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-dev-shm-usage", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--enable-logging=stderr",
		"--user-data-dir=" + profile, "--virtual-time-budget=10000",
	}, args...)
	cmd := exec.CommandContext(ctx, browser(t), append(args, address)...)
	var out, errOut output
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, &errOut)
	}
	return out.String(), errOut.String()
}

func TestReferencePageInABrowser(t *testing.T) {
	t.Parallel()
	server := serve(t, nil)
	dom, console := browse(t, server.url+"/docs", "--dump-dom")
	// Swagger UI breaks addresses for display with characters of no width.
	shown := strings.NewReplacer("<wbr>", "", "\u200b", "").Replace(dom)
	for _, text := range []string{
		"/v6/pages/{pageIdOrPathname}", "/v2/sites/{siteId}", "/v2/locales/{localeIdOrCode}", "/v2/routes", "/v2/apps", "Create a page",
	} {
		if !strings.Contains(shown, text) {
			t.Errorf("the page does not show %s", text)
		}
	}
	if strings.Contains(dom, "Failed to load") || strings.Contains(dom, "errors-wrapper") {
		t.Error("the page shows an error")
	}
	for line := range strings.Lines(console) {
		if strings.Contains(line, ":CONSOLE") && (strings.Contains(line, "Content Security Policy") || strings.Contains(line, "Uncaught")) {
			t.Errorf("the page makes the browser complain: %s", line)
		}
	}
}

var (
	loaded     = regexp.MustCompile(`(?:src|href)="([^"]*)"`)
	styleLoads = regexp.MustCompile(`url\(["']?([^"')]*)|@import\s*["']([^"']*)`)
)

func TestReferencePageLoadsNothingFromElsewhere(t *testing.T) {
	t.Parallel()
	server := serve(t, nil)
	page := server.must(t, 200, "", "GET", "/docs", "")
	checkPolicy(t, "/docs", page)

	own := 0
	for _, m := range loaded.FindAllStringSubmatch(page.body, -1) {
		address := m[1]
		switch {
		case strings.HasPrefix(address, "data:"):
		case strings.HasPrefix(address, "/") && !strings.HasPrefix(address, "//"):
			own++
			file := server.must(t, 200, "", "GET", address, "")
			if strings.HasPrefix(address, "/docs/") {
				checkPolicy(t, address, file)
			}
			if strings.HasSuffix(address, ".css") {
				checkStyle(t, file.body)
			}
		default:
			t.Errorf("the page refers to %s", address)
		}
	}
	if own < 3 {
		t.Errorf("found only %d files of the page's own in\n%s", own, page.body)
	}
}

func checkStyle(t *testing.T, css string) {
	t.Helper()
	for _, m := range styleLoads.FindAllStringSubmatch(css, -1) {
		if address := m[1] + m[2]; !strings.HasPrefix(address, "data:") && !strings.HasPrefix(address, "#") {
			t.Errorf("the style loads %s", address)
		}
	}
}

// checkPolicy is what keeps scripts from loading anything elsewhere: their text
// is too large to be read for addresses.
func checkPolicy(t *testing.T, address string, r reply) {
	t.Helper()
	policy := r.header.Get("Content-Security-Policy")
	directives := map[string][]string{}
	for directive := range strings.SplitSeq(policy, ";") {
		if words := strings.Fields(directive); len(words) > 0 {
			directives[words[0]] = words[1:]
		}
	}
	if got := strings.Join(directives["default-src"], " "); got != "'none'" {
		t.Errorf("%s: default-src is %q in %q", address, got, policy)
	}
	for name, sources := range directives {
		for _, source := range sources {
			switch source {
			case "'none'", "'self'", "data:":
			case "'unsafe-inline'":
				if name != "style-src" {
					t.Errorf("%s: %s admits %s", address, name, source)
				}
			default:
				t.Errorf("%s: %s admits %s", address, name, source)
			}
		}
	}
}

// With no name to be resolved, the page is all that this server sends.
func TestReferencePageWorksWithoutANetwork(t *testing.T) {
	t.Parallel()
	server := serve(t, nil)
	dom, _ := browse(t, server.url+"/docs", "--dump-dom", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1")
	if !strings.Contains(dom, "Create a page") {
		t.Error("the page does not show its operations")
	}
	server.stop(t)
	for _, line := range server.logLines(t) {
		if line["msg"] == "request" && line["status"] != 200.0 {
			t.Errorf("the page asked in vain: %v", line)
		}
	}
}
