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

// Status is the answer of the health checks.
type Status struct {
	Status string `json:"status" enum:"ok" doc:"Always ok." example:"ok"`
}

// docsPolicy lets the reference page load its own files and call this server,
// and nothing else. Swagger UI sets styles on elements.
const docsPolicy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
	"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// openHandlers are the addresses that need no key.
func (a *API) openHandlers(document []byte) map[string]http.HandlerFunc {
	handlers := map[string]http.HandlerFunc{
		"/healthz": func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, 200, encode(Status{"ok"})) },
		"/readyz":  a.readiness,
		"/": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "/docs")
			w.WriteHeader(http.StatusFound)
		},
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

// docsFile serves an embedded file; the large ones are embedded compressed,
// which every browser reads.
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
		_, _ = w.Write(content) // the reader may be gone
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

// openPaths documents the addresses that need no key.
func (g generator) openPaths() map[string]schema {
	status := schema{"application/json": schema{"schema": g.of(typ[Status]())}}
	fine := func(content schema) schema {
		return schema{"description": "OK", "content": content, "headers": schema{"X-Request-Id": ref("headers", "X-Request-Id")}}
	}
	operation := func(name, summary string, responses schema) schema {
		return schema{
			"operationId": name, "summary": summary, "tags": []string{"Operations"}, "security": []schema{}, "responses": responses,
		}
	}
	return map[string]schema{
		"/healthz": operation("getHealth", "Whether the process runs", schema{"200": fine(status)}),
		"/readyz": operation("getReadiness", "Whether the server can take requests", schema{
			"200": fine(status),
			"503": ref("responses", errorName(http.StatusServiceUnavailable)),
		}),
		"/openapi.json": operation("getDocument", "This document", schema{
			"200": fine(schema{"application/json": schema{"schema": schema{"type": "object"}}}),
		}),
		"/docs": operation("getReference", "This document for people", schema{
			"200": fine(schema{"text/html": schema{"schema": schema{"type": "string"}}}),
		}),
	}
}
