package httpapi

import "net/http"

// The values of headers that every answer has, made once: nobody changes them.
// Their names are written as net/http keeps them.
var (
	noSniffing   = []string{"nosniff"}
	noContents   = []string{"default-src 'none'; frame-ancestors 'none'"}
	noReferrer   = []string{"no-referrer"}
	noFrames     = []string{"DENY"}
	sameOrigin   = []string{"same-origin"}
	cacheControl = []string{"private, no-cache"}
	contentJSON  = []string{"application/json; charset=utf-8"}
)

// protect sets the headers that keep a browser from making anything of an
// answer but what it is. The reference page has a policy of its own.
func protect(h http.Header, r *http.Request) {
	h["X-Content-Type-Options"] = noSniffing
	h["Content-Security-Policy"] = noContents
	h["Referrer-Policy"] = noReferrer
	h["X-Frame-Options"] = noFrames
	h["Cross-Origin-Resource-Policy"] = sameOrigin
	if r.TLS != nil {
		h.Set("Strict-Transport-Security", "max-age=31536000")
	}
}
