// Command walk sends one GET and one PATCH through the service, and leaves in a
// folder for each which code they ran. It is to be built with -cover.
package main

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime/coverage"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"galley/internal/httpapi"
	"galley/internal/ratelimit"
	"galley/internal/service"
	"galley/internal/sqlstore"
)

func main() {
	if err := run(context.Background(), os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, folder string) error {
	store, err := sqlstore.OpenSQLite(filepath.Join(folder, "data"), nil)
	if err != nil {
		return err
	}
	if _, err := store.Migrate(ctx); err != nil {
		return err
	}
	svc := service.New(store, time.Now, httpapi.AuditState)
	first, err := svc.FirstStart(ctx, service.Bootstrap{})
	if err != nil {
		return err
	}
	rate := ratelimit.Rate{Requests: 1000, Period: time.Minute}
	handler := httpapi.New(httpapi.Options{
		Service: svc, Log: slog.New(slog.NewJSONHandler(&bytes.Buffer{}, nil)), Registry: prometheus.NewRegistry(), CacheBytes: 1 << 20,
		Limits: httpapi.Limits{App: rate, Site: rate, Auth: rate, Buckets: ratelimit.Local{Memory: ratelimit.NewMemory()}},
	})
	send := func(method, target, body string) (string, error) {
		r := httptest.NewRequestWithContext(ctx, method, target, strings.NewReader(body))
		r.Header.Set("X-Api-Key", string(first.Key))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if w.Code >= http.StatusBadRequest {
			return "", fmt.Errorf("%s %s: %d %s", method, target, w.Code, w.Body)
		}
		return field(w.Body.String(), "id"), nil
	}
	site, err := send("POST", "/v2/sites", `{"name":"Site"}`)
	if err != nil {
		return err
	}
	if _, err := send("POST", "/v6/pages", `{"siteId":"`+site+`","pathname":"/about"}`); err != nil {
		return err
	}
	target := "/v6/pages/about?siteId=" + site
	for _, request := range []struct{ name, method, target, body string }{
		{"GET", "GET", target, ""},
		{"PATCH", "PATCH", target, `{"title":"About"}`},
	} {
		// The first one of a kind fills what later ones find in memory.
		if _, err := send(request.method, request.target+"&locale=en-US", request.body); err != nil {
			return err
		}
		if err := coverage.ClearCounters(); err != nil {
			return err
		}
		if _, err := send(request.method, request.target, strings.Replace(request.body, "About", "About us", 1)); err != nil {
			return err
		}
		dir := filepath.Join(folder, request.name)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		if err := coverage.WriteCountersDir(dir); err != nil {
			return err
		}
		if err := coverage.WriteMetaDir(dir); err != nil {
			return err
		}
	}
	return store.Close()
}

// field is the value of a string field of a JSON object.
func field(text, name string) string {
	_, rest, _ := strings.Cut(text, `"`+name+`":"`)
	value, _, _ := strings.Cut(rest, `"`)
	return value
}
