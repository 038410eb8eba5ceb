package httpapi

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"galley/internal/cms"
)

// Quick answers a plain GET, given as its target and headers, if the answer is
// in memory: a request and an answer as net/http knows them take longer to make
// than all else takes. It appends the answer, as it goes over the wire, or
// returns false: then the request is ServeHTTP's, and nothing has happened.
func (a *API) Quick(dst []byte, target string, headers [][2]string) ([]byte, bool) {
	if a.cache.answers == nil || len(a.origins) > 0 {
		return dst, false
	}
	start := time.Now()
	key, ok := onlyKey(headers)
	if !ok {
		return dst, false
	}
	who, ok := a.svc.Recognize(key)
	if !ok {
		return dst, false
	}
	kept, ok := a.cache.find(who, target)
	if !ok || len(kept.body) > smallAnswer {
		return dst, false
	}
	// Who is refused is not counted, and may be refused once more.
	allowed, limits := a.limits.take(context.Background(), credentialBucket(who), a.limits.rate(who))
	if !allowed.Allowed {
		return dst, false
	}
	a.cache.hits.Inc()
	kept.giveOut()
	r := request{Request: plainGet, id: cms.NewID().String(), who: who, pattern: kept.pattern}
	dst = append(dst, quickHead...)
	dst = appendHeader(dst, "Content-Length", strconv.Itoa(len(kept.body)))
	dst = appendHeader(dst, "Date", start.UTC().Format(http.TimeFormat))
	dst = appendHeader(dst, "Etag", kept.tag)
	for i, value := range limits {
		dst = appendHeader(dst, limitHeaders[i], value)
	}
	dst = appendHeader(dst, "X-Request-Id", r.id)
	dst = append(append(dst, "\r\n"...), kept.body...)
	a.observe(&r, http.StatusOK, time.Since(start))
	return dst, true
}

// plainGet is what a request that was never parsed is known by.
var plainGet = &http.Request{Method: http.MethodGet}

// quickHead is the part of the head that all quick answers have.
var quickHead = func() []byte {
	h := http.Header{"Cache-Control": privately, "Vary": {origins(nil).vary()}, "Content-Type": contentJSON}
	protect(h, plainGet)
	return appendHeaders([]byte("HTTP/1.1 200 OK\r\n"), h)
}()

// onlyKey is the key among headers of which no other says anything to us, as
// long as the key is good: clients and proxies send them with everything.
func onlyKey(headers [][2]string) (key string, ok bool) {
	for _, h := range headers {
		switch h[0] {
		case "X-Api-Key":
			if ok {
				return "", false
			}
			key, ok = h[1], true
		case "User-Agent", "Accept", "Accept-Encoding", "Accept-Language", "Connection", "Sec-Fetch-Mode",
			"X-Forwarded-For", "X-Forwarded-Proto", "X-Real-Ip":
		default:
			return "", false
		}
	}
	return key, ok
}
