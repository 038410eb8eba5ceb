package httpapi_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"galley/internal/cms"
	"galley/internal/httpapi"
	"galley/internal/service"
)

// panicking is a store in which something is badly wrong.
type panicking struct{ service.Store }

func (panicking) AppByKey(context.Context, cms.KeyHash, time.Time) (cms.App, *time.Time, error) {
	panic("badly wrong")
}

// What is logged about a panic is where it was, never what the request held.
func TestPanicShowsNoSecret(t *testing.T) {
	var log bytes.Buffer
	handler := httpapi.New(httpapi.Options{
		Service: service.New(panicking{}, time.Now, httpapi.AuditState), Version: "test", Registry: prometheus.NewRegistry(),
		Log: slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	const canary = "cnry7f1d"
	key := string(cms.NewAppKey())
	r := httptest.NewRequest(http.MethodPost, "/v2/sites/"+canary+"?token="+canary, strings.NewReader(`{"name":"`+canary+`"}`))
	for _, name := range []string{"User-Agent", "Referer", "Cookie", "Idempotency-Key", "X-Forwarded-For", "X-Request-Id", "If-Match"} {
		r.Header.Set(name, canary)
	}
	r.Header.Set("X-Api-Key", key)
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	if w.Code != http.StatusInternalServerError || !strings.Contains(w.Body.String(), w.Header().Get("X-Request-Id")) {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
	if !strings.Contains(log.String(), "badly wrong") || !strings.Contains(log.String(), w.Header().Get("X-Request-Id")) {
		t.Errorf("the log does not tell of the panic: %s", &log)
	}
	for _, said := range []string{log.String(), w.Body.String(), headerText(w.Header())} {
		if strings.Contains(said, key) || strings.Contains(said, canary) {
			t.Errorf("a secret came out: %s", said)
		}
	}
	if strings.Contains(w.Body.String(), "badly") {
		t.Errorf("the answer shows the inside: %s", w.Body)
	}
}

func headerText(h http.Header) string {
	var b strings.Builder
	_ = h.Write(&b)
	return b.String()
}
