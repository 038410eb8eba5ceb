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

// cache keeps answers to reads, encoded and with their entity tags, for as
// long as they are right: until anything changes that they follow from, or
// about the credential that asked. An answer is kept for a credential and an
// address, and counts against the credential's limit each time that it is given.
type cache struct {
	svc     *service.Service
	answers *otter.Cache[cacheKey, *keptAnswer] // nil: off
	hits    prometheus.Counter
	misses  prometheus.Counter
}

type cacheKey struct {
	credential cms.ID
	address    string // with the query, as it was sent
}

type keptAnswer struct {
	body    []byte
	tag     string
	pattern string
	site    cms.ID
	about   []cms.Subject // the credential included
	version int64         // of the store before it was read
	readAt  time.Time
	onSend  func()
}

// keptOverhead is about what an answer takes beside its text.
const keptOverhead = 450

func newCache(svc *service.Service, bytes int64, registry *prometheus.Registry) *cache {
	c := &cache{
		svc:    svc,
		hits:   prometheus.NewCounter(prometheus.CounterOpts{Name: "galley_cache_hits_total", Help: "Reads that were answered from memory."}),
		misses: prometheus.NewCounter(prometheus.CounterOpts{Name: "galley_cache_misses_total", Help: "Reads that could be answered from memory and were not."}),
	}
	registry.MustRegister(c.hits, c.misses, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "galley_cache_bytes", Help: "Bytes of answers that are kept in memory.",
	}, func() float64 {
		if c.answers == nil {
			return 0
		}
		return float64(c.answers.WeightedSize())
	}))
	if bytes > 0 {
		c.answers = otter.Must(&otter.Options[cacheKey, *keptAnswer]{
			MaximumWeight: uint64(bytes),
			Weigher: func(key cacheKey, kept *keptAnswer) uint32 {
				return uint32(len(key.address) + len(kept.body) + keptOverhead)
			},
		})
	}
	return c
}

// recall answers a request from memory, and tells whether it could. It does all
// that the long way does for such a request: the key, the limit, the headers.
func (a *API) recall(w *responseWriter, r *request) bool {
	if a.cache.answers == nil || !readOnly(r.Method) {
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
	kept, ok := a.cache.find(who, r.RequestURI)
	if !ok {
		r.who = service.Caller{}
		return false
	}
	r.pattern, r.site = kept.pattern, kept.site
	if who.App != nil && len(a.origins) > 0 {
		withdrawOrigin(w.Header())
	}
	if err := a.limits.admitCredential(w.Header(), r); err != nil {
		a.fail(w, r, err)
		return true
	}
	a.cache.hits.Inc()
	kept.onSend()
	w.shared = true
	sendTagged(w, r, http.StatusOK, kept.body, kept.tag)
	return true
}

// find returns the answer to a caller's GET if it is at hand and right.
func (c *cache) find(who service.Caller, address string) (*keptAnswer, bool) {
	kept, ok := c.answers.GetIfPresent(cacheKey{who.ID(), address})
	if !ok || !c.isCurrent(kept) {
		return nil, false
	}
	return kept, true
}

// isCurrent reports whether nothing has changed that an answer follows from.
func (c *cache) isCurrent(kept *keptAnswer) bool {
	if maxAge := c.svc.MaxAge(); maxAge > 0 && time.Since(kept.readAt) >= maxAge {
		return false
	}
	return c.svc.Unchanged(kept.version, kept.about...)
}

// keep keeps an answer, if it is one that may be kept. It was worked out from
// what was read after the request's moment.
func (c *cache) keep(r *request, ans answer, body []byte, tag string) {
	if c.answers == nil || !readOnly(r.Method) || ans.status != http.StatusOK || ans.about == nil {
		return
	}
	c.misses.Inc()
	ans.about = append(ans.about, r.who.Subject())
	if !c.svc.Unchanged(r.version, ans.about...) {
		return
	}
	// A copy: the address may be a part of the whole request, with its key.
	c.answers.Set(cacheKey{r.who.ID(), strings.Clone(r.RequestURI)}, &keptAnswer{body, tag, r.pattern, r.site, ans.about, r.version, r.start, ans.onSend})
}
