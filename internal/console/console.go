// Package console is the service in a browser: screens made on the server, of the
// answers of the REST interface. It knows templ and the interface API, so whatever the
// console can do, REST can do.
//
// # How a screen is made
//
// A screen is an address, and every address below /console/sites/{site} has a site. The
// same address takes GET and POST; forms say what they do by the field "do". All of it
// works without JavaScript: links, forms, and a redirect after each write.
//
//  1. Its row in the table of screens (screens.go): pattern, handler, and where the nav
//     shows it.
//  2. Its handler (sites.go is the shortest): it reads with v.get and decodes with read,
//     or writes with v.send, and then calls v.show with a component, or v.done with the
//     address to go to and a message. It returns any error it gets: v.fail shows it. For a form
//     that is refused it shows the screen again with what was typed and v.show's
//     problem; field(problem, "name") is the message beside a field.
//  3. Its component (sites.templ). `make generate` writes the Go of it. Parts that
//     screens share are in parts.templ, the frame is in layout.templ.
//  4. Its words (words.go): components have none of their own, which a test checks.
//  5. Its style (assets/console.css) and, where it must, its script (assets/console.js),
//     which enhances what works without it.
//  6. Its row in browsertest's list of screens, which checks accessibility, width, both
//     themes, hostile text and the policy; and its own tests beside it.
//
// An htmx request gets the same screen without the frame.
package console

import (
	"net/http"
	"strings"
)

// Options configure a console.
type Options struct {
	API     API
	Version string // of the program
}

// Console is the handler of the addresses below /console.
type Console struct {
	api     API
	version string
	assets  assets
	mux     *http.ServeMux
	handler http.Handler
}

// New returns a console.
func New(o Options) *Console {
	c := &Console{api: o.API, version: o.Version, assets: loadAssets(), mux: http.NewServeMux()}
	c.mux.HandleFunc("GET /console/assets/{hash}/{file...}", c.serveAsset)
	for pattern, handle := range map[string]http.HandlerFunc{
		"/console/sign-in": c.signIn, "/console/start": c.start, "/console/theme": c.setTheme, "/console/": c.unknown,
	} {
		c.mux.HandleFunc(pattern, handle)
	}
	c.mux.HandleFunc("GET /console", func(w http.ResponseWriter, r *http.Request) { redirect(w, r, sitesPath) })
	for _, s := range screens {
		c.mux.HandleFunc(s.pattern, c.visited(s))
	}
	// A write that another site makes a browser send is refused.
	var origins http.CrossOriginProtection
	origins.SetDenyHandler(http.HandlerFunc(c.denyOrigin))
	c.handler = origins.Handler(c.mux)
	return c
}

// policy lets the console load its own files, and nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; " +
	"connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// ServeHTTP serves a screen or a file.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	h.Set("Vary", "HX-Request, Cookie")
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	c.handler.ServeHTTP(w, r)
}

// maxForm is the largest form: the largest content, percent-encoded.
const maxForm = 9 << 20

// redirect sends the browser to an address of the console.
func redirect(w http.ResponseWriter, r *http.Request, address string) {
	if r.Header.Get("HX-Request") != "" {
		w.Header().Set("HX-Redirect", address)
		w.WriteHeader(http.StatusNoContent)
		return
	}
	w.Header().Set("Location", address)
	w.WriteHeader(http.StatusSeeOther)
}

// isOwn reports whether an address leads to a screen of this console, and not elsewhere.
func isOwn(address string) bool {
	return strings.HasPrefix(address, "/console/") && !strings.ContainsAny(address, "\\\r\n\t") &&
		!strings.HasPrefix(address, signInPath)
}
