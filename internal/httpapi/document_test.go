package httpapi_test

import (
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"galley/internal/httpapi"
	"galley/internal/sqlstore"
)

// documentTools has the tools that read the document, as tools/deps.sh installs them.
const documentTools = "testdata/document"

// documentTool prepares one of the npm tools, by its script.
func documentTool(t *testing.T, script string, args ...string) *exec.Cmd {
	t.Helper()
	nodes, err := filepath.Glob(documentTools + "/node_modules/node-linux-*/bin/node")
	if err != nil || len(nodes) == 0 {
		t.Fatal("Node.js 24 is not installed: run tools/deps.sh")
	}
	node, err := filepath.Abs(nodes[0])
	if err != nil {
		t.Fatal(err)
	}
	tool := exec.CommandContext(t.Context(), node, append([]string{"node_modules/" + script}, args...)...)
	tool.Dir = documentTools
	tool.Env = append(os.Environ(), "REDOCLY_TELEMETRY=off", "REDOCLY_SUPPRESS_UPDATE_NOTICE=true", "SCARF_ANALYTICS=false")
	return tool
}

// succeed runs a command and returns what it prints.
func succeed(t *testing.T, c *exec.Cmd) string {
	t.Helper()
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(c.Args, " "), err, out)
	}
	return string(out)
}

// writeDocument writes the document into a folder and returns its path.
func writeDocument(t *testing.T, folder string) string {
	t.Helper()
	file := filepath.Join(folder, "openapi.json")
	if err := os.WriteFile(file, httpapi.Document("test"), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestDocumentKeepsTheRulesOfRedocly(t *testing.T) {
	t.Parallel()
	out := succeed(t, documentTool(t, "@redocly/cli/bin/cli.js", "lint", "--extends=recommended", writeDocument(t, t.TempDir())))
	if strings.Contains(out, "warning") {
		t.Error(out)
	}
}

// copied copies files of the tools into a folder beside the packages.
func copied(t *testing.T, names ...string) string {
	t.Helper()
	folder := t.TempDir()
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(documentTools, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, filepath.Base(name)), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// What generators make of the document compiles, and does what it says.
func TestGeneratedClientsWork(t *testing.T) {
	t.Parallel()
	store, err := sqlstore.OpenSQLite(t.TempDir(), nil)
	s := newSystem(t, store, err)
	const want = "/about conflict\n"
	packages, err := filepath.Abs(documentTools + "/node_modules")
	if err != nil {
		t.Fatal(err)
	}
	for name, generate := range map[string]func(folder, document string) *exec.Cmd{
		"fetch": func(folder, document string) *exec.Cmd {
			return documentTool(t, "openapi-typescript/bin/cli.js", document, "-o", folder+"/schema.d.ts")
		},
		"hey": func(folder, document string) *exec.Cmd {
			return documentTool(t, "@hey-api/openapi-ts/bin/run.js", "-i", document, "-o", folder+"/hey", "-c", "@hey-api/client-fetch")
		},
	} {
		t.Run(name, func(t *testing.T) {
			folder := copied(t, name+".ts")
			if err := os.Symlink(packages, filepath.Join(folder, "node_modules")); err != nil {
				t.Fatal(err)
			}
			succeed(t, generate(folder, writeDocument(t, folder)))
			compile := documentTool(t, "typescript/bin/tsc", "--strict", "--skipLibCheck", "--target", "es2022", "--module", "commonjs",
				"--moduleResolution", "node10", "--lib", "es2022,dom,dom.iterable", "--types", "node", "--outDir", folder+"/out", folder+"/"+name+".ts")
			succeed(t, compile)
			run := documentTool(t, "", s.url, s.key)
			run.Args[1] = folder + "/out/" + name + ".js"
			if got := succeed(t, run); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
	t.Run("oapi-codegen", func(t *testing.T) {
		folder := copied(t, "oapi/main.go", "oapi/go.mod", "oapi/go.sum")
		document := writeDocument(t, folder)
		if err := os.Mkdir(folder+"/client", 0o700); err != nil {
			t.Fatal(err)
		}
		in := func(args ...string) string {
			c := exec.CommandContext(t.Context(), "go", args...)
			c.Dir = folder
			return succeed(t, c)
		}
		in("tool", "oapi-codegen", "-generate", "types,client", "-package", "client", "-o", "client/client.go", document)
		if got := in("run", ".", s.url, s.key); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

// Prism stands between the client and the server, and answers with an error of its
// own when a request or a response is not as the document says.
func TestPrismSeesNoViolation(t *testing.T) {
	t.Parallel()
	store, err := sqlstore.OpenSQLite(t.TempDir(), nil)
	s := newSystem(t, store, err)
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(free.Addr().String())
	_ = free.Close()
	prism := documentTool(t, "@stoplight/prism-cli/dist/index.js", "proxy", writeDocument(t, t.TempDir()), s.url, "--errors", "-h", "127.0.0.1", "-p", port)
	if err := prism.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = prism.Process.Kill(); _ = prism.Wait() })
	proxied := *s
	proxied.url = "http://127.0.0.1:" + port
	for end := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		bad, err := http.NewRequestWithContext(t.Context(), http.MethodPost, proxied.url+"/v2/sites", strings.NewReader(`{"name":1}`))
		if err != nil {
			t.Fatal(err)
		}
		bad.Header.Set("Content-Type", "application/json")
		bad.Header.Set("X-Api-Key", s.key)
		r, err := http.DefaultClient.Do(bad)
		if err == nil {
			_ = r.Body.Close()
			checkEqual(t, "an answer by Prism itself", http.StatusUnprocessableEntity, r.StatusCode)
			break
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
	for _, name := range checkGoldenFiles(t) {
		if name == "streamEvents" {
			continue // Prism waits for the end of a response
		}
		t.Run(name, func(t *testing.T) {
			if r := golden[name](t, newExample(t, freshWorkspace(t, &proxied))); r.status >= 300 {
				t.Errorf("%d %s", r.status, r.body)
			}
		})
	}
}
