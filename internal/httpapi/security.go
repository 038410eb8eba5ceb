package httpapi

import (
	"maps"
	"net/http"
)

// protective are the headers that keep a browser from making anything of an
// answer but what it is. The reference page has a policy of its own.
var protective = http.Header{
	"X-Content-Type-Options":       {"nosniff"},
	"Content-Security-Policy":      {"default-src 'none'; frame-ancestors 'none'"},
	"Referrer-Policy":              {"no-referrer"},
	"X-Frame-Options":              {"DENY"},
	"Cross-Origin-Resource-Policy": {"same-origin"},
}

// protect sets the headers of every answer that are about browsers.
func protect(h http.Header, r *http.Request) {
	maps.Copy(h, protective)
	if r.TLS != nil {
		h.Set("Strict-Transport-Security", "max-age=31536000")
	}
}
