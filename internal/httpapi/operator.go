package httpapi

import (
	"fmt"
	"net/http"
	"net/http/pprof"
	profiles "runtime/pprof"
	"slices"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"galley/internal/cms"
)

// operator is the handler of a path that needs an App key with scope operator.
type operator struct {
	methods []string
	params  []string
	handler http.Handler
}

// operate authenticates and handles a request of an operator. The handler gets
// the original request, since a profile may take longer than requestTimeout.
func (a *API) operate(w *responseWriter, r *request, original *http.Request, o operator) error {
	if err := a.authenticate(w.Header(), r); err != nil {
		return err
	}
	if !slices.Contains(o.methods, methodOf(r)) {
		return methodNotAllowed(w, o.methods)
	}
	if err := o.check(r.URL.RawQuery); err != nil {
		return err
	}
	if err := r.who.Allow(cms.ScopeOperator, appsOnly); err != nil {
		return err
	}
	o.handler.ServeHTTP(w, original)
	return nil
}

// check refuses other parameters, such as gc=1, which would run a collection.
func (o operator) check(rawQuery string) error {
	var params []param
	for _, name := range o.params {
		params = append(params, param{name: name, parse: func(_ *query, v string) string {
			if n, err := strconv.ParseFloat(v, 64); err != nil || !(n >= 0 && n <= maxProfile) || n == 0 && name == "seconds" {
				return fmt.Sprintf("must be a number of at most %d", maxProfile)
			}
			return ""
		}})
	}
	_, err := parseQuery(rawQuery, params, false)
	return err
}

func operators(registry *prometheus.Registry) map[string]operator {
	get, seconds := []string{http.MethodGet}, []string{"seconds"}
	// cmdline is left out: a flag may have the password of the database.
	paths := map[string]operator{
		"/metrics":             {get, nil, promhttp.HandlerFor(registry, promhttp.HandlerOpts{})},
		"/debug/pprof/":        {get, nil, http.HandlerFunc(pprof.Index)},
		"/debug/pprof/profile": {get, seconds, http.HandlerFunc(pprof.Profile)},
		"/debug/pprof/symbol":  {append(get, http.MethodPost), nil, http.HandlerFunc(pprof.Symbol)},
		"/debug/pprof/trace":   {get, seconds, http.HandlerFunc(pprof.Trace)},
	}
	for _, profile := range profiles.Profiles() {
		paths["/debug/pprof/"+profile.Name()] = operator{get, []string{"seconds", "debug"}, pprof.Handler(profile.Name())}
	}
	return paths
}

// maxProfile bounds the duration of a profile in seconds, so that it can be sent
// before the write timeout.
const maxProfile = 45
