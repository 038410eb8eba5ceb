package httpapi

import (
	"net/http"
	"slices"
)

// AnyOrigin allows all origins.
const AnyOrigin = "*"

// origins are the origins whose scripts may read with a Site key or a preview. There are none
// unless the operator configures some.
type origins []string

// of returns the allowed origin of the script that sent a request, or "".
func (o origins) of(r *http.Request) string {
	if sent := r.Header.Values("Origin"); len(sent) == 1 && (slices.Contains(o, sent[0]) || slices.Contains(o, AnyOrigin)) {
		return sent[0]
	}
	return ""
}

// vary names the headers by which responses differ.
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

// share allows a script of an allowed origin to read the response to its GET. It
// runs before authentication, so that scripts can read those errors, too.
func (o origins) share(h http.Header, r *http.Request) {
	origin := o.of(r)
	if origin == "" || !readOnly(r.Method) {
		return
	}
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Expose-Headers", exposed)
	h.Set("Cross-Origin-Resource-Policy", "cross-origin")
}

// withdrawOrigin undoes share for App keys, which must not be used in browsers.
func withdrawOrigin(h http.Header) {
	h.Del("Access-Control-Allow-Origin")
	h.Del("Access-Control-Expose-Headers")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
}

// preflight responds to the CORS preflight of a read that a Site key may do, and
// reports whether the request was one.
func (a *API) preflight(w http.ResponseWriter, r *request, path string) bool {
	method := r.Header.Get("Access-Control-Request-Method")
	if r.Method != http.MethodOptions || !readOnly(method) || hasCredential(r) {
		return false
	}
	origin := a.origins.of(r.Request)
	e, _, _ := a.router.route(http.MethodGet, path)
	if origin == "" || e == nil || e.audience == appsOnly {
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
