package httpapi

import (
	"net/http"
	"strings"
	"time"

	"github.com/maypok86/otter/v2"
	"github.com/prometheus/client_golang/prometheus"

	"galley/internal/cms"
	"galley/internal/service"
)

// cache has the encoded responses of reads by credential and URI, with their
// entity tags. A response is valid until something changes that it depends on, or
// the credential does. Responses from the cache count against the rate limit.
type cache struct {
	svc       *service.Service
	responses *otter.Cache[cacheKey, *cachedResponse] // nil: disabled
	sitemaps  *otter.Cache[string, sitemapPlan]
	hits      prometheus.Counter
	misses    prometheus.Counter
}

type cacheKey struct {
	credential cms.ID
	uri        string // as it was sent
}

type cachedResponse struct {
	body    []byte
	media   string // "": JSON
	tag     string
	pattern string
	site    cms.ID
	reading
	onSend func()
}

// reading is what was read, and when.
type reading struct {
	about   []cms.Subject // including the credential
	version int64         // of the store before the read
	at      time.Time
}

// cachedOverhead is about the memory that a response takes beside its body.
const cachedOverhead = 450

func newCache(svc *service.Service, bytes int64, registry *prometheus.Registry) *cache {
	c := &cache{
		svc:      svc,
		sitemaps: otter.Must(&otter.Options[string, sitemapPlan]{MaximumSize: maxSitemapPlans}),
		hits:     prometheus.NewCounter(prometheus.CounterOpts{Name: "galley_cache_hits_total", Help: "Reads that were served from the cache."}),
		misses:   prometheus.NewCounter(prometheus.CounterOpts{Name: "galley_cache_misses_total", Help: "Reads that could be cached and were not in the cache."}),
	}
	registry.MustRegister(c.hits, c.misses, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "galley_cache_bytes", Help: "Bytes of responses in the cache.",
	}, func() float64 {
		if c.responses == nil {
			return 0
		}
		return float64(c.responses.WeightedSize())
	}))
	if bytes > 0 {
		c.responses = otter.Must(&otter.Options[cacheKey, *cachedResponse]{
			MaximumWeight: uint64(bytes),
			Weigher: func(key cacheKey, cached *cachedResponse) uint32 {
				return uint32(len(key.uri) + len(cached.body) + cachedOverhead)
			},
		})
	}
	return c
}

// serveCached serves a read from the cache, and reports whether it could. It
// checks the key and the rate limit as for any other request.
func (a *API) serveCached(w *responseWriter, r *request) bool {
	if a.cache.responses == nil {
		return false
	}
	key, err := credential(r)
	if err != nil {
		return false
	}
	who, ok := a.svc.Recognize(key)
	if !ok {
		return false
	}
	r.who = who
	cached, ok := a.cache.find(who, r.RequestURI)
	if !ok {
		r.who = service.Caller{}
		return false
	}
	r.pattern, r.site = cached.pattern, cached.site
	if who.App != nil && len(a.origins) > 0 {
		withdrawOrigin(w.Header())
	}
	if err := a.limits.admitCredential(w.Header(), r); err != nil {
		a.fail(w, r, err)
		return true
	}
	a.cache.hits.Inc()
	if cached.onSend != nil {
		cached.onSend()
	}
	w.shared = true
	sendTagged(w, r, http.StatusOK, cached.media, cached.body, cached.tag)
	return true
}

// find returns the response to a caller's GET if it is in the cache and valid.
func (c *cache) find(who service.Caller, uri string) (*cachedResponse, bool) {
	cached, ok := c.responses.GetIfPresent(cacheKey{who.ID(), uri})
	if !ok || !c.isCurrent(cached.reading) {
		return nil, false
	}
	return cached, true
}

// isCurrent reports whether nothing has changed since it was read.
func (c *cache) isCurrent(known reading) bool {
	if maxAge := c.svc.MaxAge(); maxAge > 0 && time.Since(known.at) >= maxAge {
		return false
	}
	return c.svc.Unchanged(known.version, known.about...)
}

// keep adds a response to the cache, if it may be cached and nothing that it
// depends on has changed since the request began.
func (c *cache) keep(r *request, res response, body []byte, tag string) {
	if c.responses == nil || res.status != http.StatusOK || res.about == nil {
		return
	}
	c.misses.Inc()
	res.about = append(res.about, r.who.Subjects()...)
	if !c.svc.Unchanged(r.version, res.about...) {
		return
	}
	// The clone frees the rest of the request, which has the key.
	c.responses.Set(cacheKey{r.who.ID(), strings.Clone(r.RequestURI)}, &cachedResponse{body, res.media, tag, r.pattern, r.site, reading{res.about, r.version, r.start}, res.onSend})
}
