package httpapi

import (
	"net/url"
	"reflect"
	"slices"
	"strings"

	"galley/internal/cms"
	"galley/internal/service"
)

// endpoint is a row of the route table, which routing, permission checks, body
// decoding and the OpenAPI document use. Its texts are in openapi_text.go.
type endpoint struct {
	method   string
	pattern  string
	name     string // the operation's id
	scope    cms.Scope
	audience service.Audience
	params   []param
	body     reflect.Type // nil: none
	status   int          // of success
	response reflect.Type // nil: no body
	handle   func(*request) (response, error)
}

// bodyOptional reports whether an empty body is the same as {}.
func (e *endpoint) bodyOptional() bool {
	return e.body == nil || (e.body.Kind() == reflect.Struct && len(requiredFields(e.body)) == 0)
}

// tagged reports whether responses have an entity tag. Those with an App key, a token
// or a secret, and streams, have none, since they can't be read again.
func (e *endpoint) tagged() bool {
	return e.response != typ[AppWithKey]() && e.response != typ[PreviewWithToken]() && e.response != typ[WebhookWithSecret]() && e.response != typ[EventStream]()
}

// path is the pattern as the OpenAPI document has it.
func (e *endpoint) path() string { return withoutKinds.Replace(e.pattern) }

var withoutKinds = strings.NewReplacer("...}", "}", ":id}", "}")

func typ[T any]() reflect.Type { return reflect.TypeFor[T]() }

// router finds the endpoint for a path. It neither redirects nor cleans paths. A
// value in a path may have escaped slashes, and a pathname may have plain ones,
// which http.ServeMux does not support.
type router struct {
	patterns []pattern // most specific first
}

// pattern is a path with its endpoints by method. Its segments are fixed, or
// {name} for any one segment, {name:id} for an id, or {name...} for the rest.
type pattern struct {
	segments  []string
	tail      bool // the last segment matches the rest
	endpoints map[string]*endpoint
}

func newRouter(table []*endpoint) router {
	var r router
	for _, e := range table {
		segments := strings.Split(e.pattern[1:], "/")
		i := slices.IndexFunc(r.patterns, func(p pattern) bool { return slices.Equal(p.segments, segments) })
		if i < 0 {
			i = len(r.patterns)
			r.patterns = append(r.patterns, pattern{segments, strings.HasSuffix(e.pattern, "...}"), map[string]*endpoint{}})
		}
		r.patterns[i].endpoints[e.method] = e
	}
	slices.SortStableFunc(r.patterns, func(a, b pattern) int { return strings.Compare(a.rank(), b.rank()) })
	return r
}

// rank orders patterns: fixed segments before ids, ids before single values,
// those before tails.
func (p pattern) rank() string {
	var b strings.Builder
	for _, s := range p.segments {
		switch {
		case strings.HasSuffix(s, "...}"):
			b.WriteByte('d')
		case strings.HasSuffix(s, ":id}"):
			b.WriteByte('b')
		case strings.HasPrefix(s, "{"):
			b.WriteByte('c')
		default:
			b.WriteByte('a')
		}
	}
	return b.String()
}

// route returns the endpoint of a request and the values in its path. Without an
// endpoint, allow lists the methods of the path, if any.
func (r router) route(method, escapedPath string) (found *endpoint, values map[string]string, allow []string) {
	if !strings.HasPrefix(escapedPath, "/") {
		return nil, nil, nil
	}
	segments := strings.Split(escapedPath[1:], "/")
	for _, p := range r.patterns {
		values, ok := p.match(segments)
		if !ok {
			continue
		}
		if e, ok := p.endpoints[method]; ok {
			return e, values, nil
		}
		for m := range p.endpoints {
			allow = append(allow, m)
		}
		// An id with a known suffix matches no other pattern. A fixed
		// segment, such as batch, may be a pathname for other methods.
		if strings.Contains(p.rank(), "b") {
			break
		}
	}
	slices.Sort(allow)
	return nil, nil, slices.Compact(allow)
}

func (p pattern) match(segments []string) (values map[string]string, ok bool) {
	if len(segments) < len(p.segments) || (len(segments) > len(p.segments) && !p.tail) {
		return nil, false
	}
	for i, want := range p.segments {
		if !strings.HasPrefix(want, "{") {
			if segments[i] != want {
				return nil, false
			}
			continue
		}
		name, raw := strings.Trim(want, "{}"), segments[i]
		if tail, ok := strings.CutSuffix(name, "..."); ok {
			name, raw = tail, strings.Join(segments[i:], "/")
			segments = segments[:i+1]
		}
		value, err := url.PathUnescape(raw)
		if err != nil || value == "" {
			return nil, false
		}
		if idName, ok := strings.CutSuffix(name, ":id"); ok {
			name = idName
			if _, ok := cms.ParseID(value); !ok {
				return nil, false
			}
		}
		if values == nil {
			values = map[string]string{} // most patterns do not get this far
		}
		values[name] = value
	}
	return values, true
}
