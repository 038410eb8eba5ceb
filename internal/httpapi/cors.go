package httpapi

import (
	"net/http"
	"slices"
)

// AnyOrigin among the allowed origins is every origin.
const AnyOrigin = "*"

// origins are the origins whose scripts may read with a Site key. There are
// none unless the operator names some.
type origins []string

func (o origins) allow(origin string) bool {
	return origin != "" && (slices.Contains(o, origin) || slices.Contains(o, AnyOrigin))
}

// of is the origin of the script that sent a request, or "" if there is none
// that may read anything.
func (o origins) of(r *http.Request) string {
	if len(o) == 0 {
		return ""
	}
	if sent := r.Header.Values("Origin"); len(sent) == 1 && o.allow(sent[0]) {
		return sent[0]
	}
	return ""
}

// vary names the headers by which answers differ.
func (o origins) vary() string {
	if len(o) == 0 {
		return "x-api-key, authorization"
	}
	return "x-api-key, authorization, Origin"
}

const (
	// exposed are the headers that scripts may read.
	exposed = "ETag, RateLimit, RateLimit-Policy, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, Retry-After, X-Request-Id"
	// preflightHeaders are those that scripts may send.
	preflightHeaders = "x-api-key, authorization, if-none-match"
)

// share lets a script of an allowed origin read the answer to its GET. It comes
// before the key is known, so that a script can tell a wrong key, a limit or an
// overload from a network that is down; unshare takes it back from App keys.
func (o origins) share(h http.Header, r *http.Request) {
	origin := o.of(r)
	if origin == "" || !readOnly(r.Method) {
		return
	}
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Expose-Headers", exposed)
	h.Set("Cross-Origin-Resource-Policy", "cross-origin")
}

// unshare keeps scripts of other origins from reading with an App key: such a
// key has no place in a browser.
func withdrawOrigin(h http.Header) {
	h.Del("Access-Control-Allow-Origin")
	h.Del("Access-Control-Expose-Headers")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
}

// preflight answers a browser that asks whether a script of an allowed origin
// may read an address, and tells whether it was that. Any other OPTIONS is a
// request like all others.
func (a *API) preflight(w http.ResponseWriter, r *request, path string) bool {
	method := r.Header.Get("Access-Control-Request-Method")
	if r.Method != http.MethodOptions || !readOnly(method) || hasCredential(r) {
		return false
	}
	origin := a.origins.of(r.Request)
	e, _, _ := a.router.route(http.MethodGet, path)
	if origin == "" || e == nil || !e.siteKey {
		return false
	}
	r.pattern = e.path()
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Allow-Methods", "GET, HEAD")
	h.Set("Access-Control-Allow-Headers", preflightHeaders)
	h.Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
	return true
}
