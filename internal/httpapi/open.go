package httpapi

import (
	"embed"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"

	"galley/internal/cms"
)

//go:embed docs
var docsFiles embed.FS

// Status is the response of the health checks.
type Status struct {
	Status string `json:"status" enum:"ok" doc:"Always ok." example:"ok"`
}

// docsPolicy allows the reference page to load its own files and to call this
// server. Swagger UI needs inline styles.
const docsPolicy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
	"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// openHandlers are the handlers of the paths that need no key.
func (a *API) openHandlers(document []byte) map[string]http.HandlerFunc {
	handlers := map[string]http.HandlerFunc{
		"/healthz": func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, 200, encode(Status{"ok"})) },
		"/readyz":  a.readiness,
		"/":        redirectTo("/docs"),
		"/openapi.json": func(w http.ResponseWriter, _ *http.Request) {
			writeJSON(w, 200, document)
		},
	}
	files, err := fs.ReadDir(docsFiles, "docs")
	if err != nil {
		panic(err)
	}
	for _, file := range files {
		address := "/docs/" + strings.TrimSuffix(file.Name(), ".gz")
		if file.Name() == "index.html" {
			address = "/docs"
			handlers["/docs/"] = docsFile(file.Name())
		}
		handlers[address] = docsFile(file.Name())
	}
	return handlers
}

func redirectTo(path string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", path)
		w.WriteHeader(http.StatusFound)
	}
}

// docsFile serves an embedded file; large ones are embedded compressed.
func docsFile(name string) http.HandlerFunc {
	content, err := docsFiles.ReadFile("docs/" + name)
	if err != nil {
		panic(err)
	}
	name, compressed := strings.CutSuffix(name, ".gz")
	types := map[string]string{".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".txt": "text/plain; charset=utf-8"}
	return func(w http.ResponseWriter, _ *http.Request) {
		if compressed {
			w.Header().Set("Content-Encoding", "gzip")
		}
		w.Header().Set("Content-Type", types[path.Ext(name)])
		w.Header().Set("Content-Security-Policy", docsPolicy)
		w.Header().Set("Content-Length", strconv.Itoa(len(content)))
		_, _ = w.Write(content) // it fails if the client has disconnected
	}
}

func (a *API) readiness(w http.ResponseWriter, _ *http.Request) {
	if a.ready() != nil {
		w.Header().Set("Retry-After", "1")
		writeJSON(w, http.StatusServiceUnavailable, encode(Error{Object: "error", Code: cms.CodeUnavailable, Message: "The server can't take requests right now"}))
		return
	}
	writeJSON(w, http.StatusOK, encode(Status{"ok"}))
}
