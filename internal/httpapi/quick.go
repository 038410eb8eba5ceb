package httpapi

import (
	"bytes"
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"galley/internal/cms"
)

// Quick answers a plain GET from its text, head and nothing else, if the answer
// is in memory: net/http takes longer to read such a request and to write its
// answer than all else takes. It appends the answer, as it goes over the wire,
// or returns false: then the request is ServeHTTP's, and nothing has happened.
func (a *API) Quick(dst, text []byte) ([]byte, bool) {
	if a.cache.answers == nil || len(a.origins) > 0 {
		return dst, false
	}
	start := time.Now()
	ask, ok := readPlain(text)
	if !ok {
		return dst, false
	}
	who, ok := a.svc.Recognize(ask.key)
	if !ok {
		return dst, false
	}
	kept, ok := a.cache.find(who, ask.target)
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

// idleHeaders say nothing to us, as long as a request's key is good: clients
// and proxies send them with everything.
var idleHeaders = []string{
	"user-agent", "accept", "accept-encoding", "accept-language", "sec-fetch-mode",
	"x-forwarded-for", "x-forwarded-proto", "x-real-ip",
}

// plain is what there is to a plain GET.
type plain struct{ target, key string }

// readPlain reads a GET of which nothing is out of the ordinary: lines end as
// they should, and every header is one that says nothing to us or is sure to be
// sent once.
func readPlain(text []byte) (ask plain, ok bool) {
	head, ok := bytes.CutSuffix(text, []byte("\r\n\r\n"))
	if !ok {
		return ask, false
	}
	line, head, ok := bytes.Cut(head, []byte("\r\n"))
	target, isGet := bytes.CutPrefix(line, []byte("GET "))
	target, isHTTP := bytes.CutSuffix(target, []byte(" HTTP/1.1"))
	if !ok || !isGet || !isHTTP || !visible(target, false) {
		return ask, false
	}
	ask.target = string(target)
	host := false
	for more := true; more; {
		line, head, more = bytes.Cut(head, []byte("\r\n"))
		name, value, ok := bytes.Cut(line, []byte(":"))
		value = bytes.Trim(value, " ")
		if !ok || !visible(value, true) {
			return ask, false
		}
		switch {
		case named(name, "x-api-key") && ask.key == "" && visible(value, false):
			ask.key = string(value)
		case named(name, "host") && !host && isHost(value):
			host = true
		case named(name, "connection"):
			if !bytes.EqualFold(value, []byte("keep-alive")) {
				return ask, false
			}
		case !slices.ContainsFunc(idleHeaders, func(as string) bool { return named(name, as) }):
			return ask, false
		}
	}
	return ask, host && ask.key != ""
}

func named(name []byte, as string) bool {
	return len(name) == len(as) && bytes.EqualFold(name, []byte(as))
}

// visible tells whether a text is of characters that can be seen; spaces may
// be among them.
func visible(text []byte, spaces bool) bool {
	for _, c := range text {
		if c <= ' ' && (c != ' ' || !spaces) || c >= 0x7f {
			return false
		}
	}
	return true
}

// isHost tells whether a text is a host's name or address, as most are.
func isHost(text []byte) bool {
	for _, c := range text {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune(".-:", rune(c)) {
			return false
		}
	}
	return len(text) > 0
}
