package bench

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// content is a content of about 20 KB, which differs by a number.
func content(n int64) string { return fmt.Sprintf(`{"revision":%d,"blocks":[%s]}`, n, blocks) }

var blocks = func() string {
	list := make([]string, 100)
	for i := range list {
		list[i] = fmt.Sprintf(`{"type":"text","id":"block-%d","width":%d,"text":"%s","link":{"href":"/p/%d"}}`, i, i%12,
			strings.Repeat("Something about page ", 6), i)
	}
	return strings.Join(list, ",")
}()

// BenchmarkGetContent reads a content of 20 KB from the cache over a connection, and
// the same body from a handler that does nothing else.
func BenchmarkGetContent(b *testing.B) {
	onBothEngines(b, func(b *testing.B, f *fixture) {
		target := "/v6/pages/" + f.page().ID + "/content"
		f.call(b, "PUT", target, content(0), nil)
		f.handler = newHandler(f.svc, 64<<20)
		var body []byte
		read := func(b *testing.B, handler http.Handler) {
			server := httptest.NewServer(handler)
			defer server.Close()
			parallel(b, func() {
				req := f.request(b, "GET", server.URL+target, "")
				req.Body = http.NoBody
				resp, err := server.Client().Do(req)
				if err != nil {
					b.Error(err)
					return
				}
				defer func() { _ = resp.Body.Close() }()
				text, err := io.ReadAll(resp.Body)
				if err != nil || resp.StatusCode != 200 || len(text) < 20_000 {
					b.Errorf("%d, %d bytes, %v", resp.StatusCode, len(text), err)
				}
			})
		}
		rec := httptest.NewRecorder()
		f.handler.ServeHTTP(rec, f.request(b, "GET", target, ""))
		body = rec.Body.Bytes()
		b.Run("cached", func(b *testing.B) { read(b, f.handler) })
		b.Run("bare", func(b *testing.B) {
			read(b, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				_, _ = w.Write(body)
			}))
		})
	})
}

// BenchmarkPutContent sets contents of 20 KB, each another one.
func BenchmarkPutContent(b *testing.B) {
	onBothEngines(b, func(b *testing.B, f *fixture) {
		var n atomic.Int64
		parallel(b, func() { f.send(b, "PUT", "/v6/pages/"+f.page().ID+"/content", content(n.Add(1))) })
	})
}
