package bench

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"galley/internal/httpapi"
	"galley/internal/outgoing"
)

// receiver counts what it received of the webhooks of a fixture.
type receiver struct {
	url      string
	received atomic.Int64

	mu    sync.Mutex
	times map[string]time.Time // by the id of the event
}

// sendWebhooks lets a fixture serve its webhooks, and starts a receiver that answers at
// once, or never.
func (f *fixture) sendWebhooks(b *testing.B, hangs bool) *receiver {
	b.Helper()
	f.svc.SecretKey = func() ([]byte, error) { return make([]byte, 32), nil }
	f.svc.EncodeEvent = httpapi.EncodeEvent
	f.svc.Sender = outgoing.New("bench", []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, nil)
	r := &receiver{times: map[string]time.Time{}}
	over := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, request *http.Request) {
		if hangs {
			<-over
			return
		}
		r.received.Add(1)
		r.mu.Lock()
		r.times[request.Header.Get("Webhook-Id")] = time.Now()
		r.mu.Unlock()
	}))
	r.url = s.URL
	ctx, stop := context.WithCancel(context.Background())
	var serving sync.WaitGroup
	serving.Go(func() { f.svc.ServeWebhooks(ctx, func(error) {}) })
	b.Cleanup(func() { close(over); stop(); serving.Wait(); s.Close() })
	return r
}

// subscribe creates webhooks for events of a type.
func (f *fixture) subscribe(b *testing.B, url string, webhooks int, eventType string) {
	b.Helper()
	for range webhooks {
		f.call(b, "POST", "/v2/webhooks", fmt.Sprintf(`{"url":%q,"types":[%q]}`, url, eventType), nil)
	}
}

// BenchmarkCreateWithWebhooks creates pages while ten webhooks want other events, or get
// each of them. Receiver and server share the processors.
func BenchmarkCreateWithWebhooks(b *testing.B) {
	for _, c := range []struct {
		name, eventType string
		webhooks        int
	}{{"none", "", 0}, {"10 of other events", "site.deleted", 10}, {"10 of these events", "page.created", 10}} {
		b.Run(c.name, func(b *testing.B) {
			onBothEngines(b, func(b *testing.B, f *fixture) {
				r := f.sendWebhooks(b, false)
				f.subscribe(b, r.url, c.webhooks, c.eventType)
				var n atomic.Int64
				parallel(b, func() {
					f.send(b, "POST", "/v6/pages", fmt.Sprintf(`{"siteId":%q,"pathname":"/new/%d","title":"New"}`, f.page().SiteID, n.Add(1)))
				})
			})
		})
	}
}

// BenchmarkDeliveries sends 1,000 events of each of ten sites to each of some webhooks.
func BenchmarkDeliveries(b *testing.B) {
	for _, webhooks := range []int{1, 10} {
		b.Run(fmt.Sprint(webhooks), func(b *testing.B) {
			onBothEngines(b, func(b *testing.B, f *fixture) {
				r := f.sendWebhooks(b, false)
				f.subscribe(b, r.url, webhooks, "page.created")
				for round := 0; b.Loop(); round++ {
					before := r.received.Load()
					for _, site := range f.sites {
						f.send(b, "POST", "/v6/pages/batch", batch(site, creates(fmt.Sprint(round), 1000)))
					}
					start, sent, used := time.Now(), r.received.Load(), cpu(b)
					for r.received.Load()-before < int64(webhooks*len(f.sites)*1000) {
						time.Sleep(time.Millisecond)
					}
					b.ReportMetric(float64(r.received.Load()-sent)/time.Since(start).Seconds(), "deliveries/s")
					b.ReportMetric(float64((cpu(b)-used).Microseconds())/float64(r.received.Load()-sent), "cpu-us/delivery")
				}
			})
		})
	}
}

func creates(folder string, n int) (operations []string) {
	for i := range n {
		operations = append(operations, fmt.Sprintf(`{"op":"create","pathname":"/%s/%d"}`, folder, i))
	}
	return operations
}

// BenchmarkDeliveryTime measures how long it takes from the response to a write until its
// event is received, at a hundred writes a second.
func BenchmarkDeliveryTime(b *testing.B) {
	onBothEngines(b, func(b *testing.B, f *fixture) {
		r := f.sendWebhooks(b, false)
		f.subscribe(b, r.url, 1, "page.created")
		written := map[string]time.Time{}
		n := 0
		for b.Loop() {
			n++
			f.call(b, "POST", "/v6/pages", fmt.Sprintf(`{"siteId":%q,"pathname":"/new/%d"}`, f.page().SiteID, n), nil)
			written[fmt.Sprintf("/new/%d", n)] = time.Now()
			time.Sleep(10 * time.Millisecond)
		}
		for r.received.Load() < int64(n) {
			time.Sleep(time.Millisecond)
		}
		var took []time.Duration
		for after := ""; ; {
			var list struct {
				Data []struct {
					ID   string
					Data page
				}
				HasMore bool
			}
			f.call(b, "GET", "/v2/events?types=page.created&limit=100"+after, "", &list)
			for _, e := range list.Data {
				if at, has := written[e.Data.Pathname]; has && !r.times[e.ID].IsZero() {
					took = append(took, r.times[e.ID].Sub(at))
				}
			}
			if !list.HasMore {
				break
			}
			after = "&startingAfter=" + list.Data[len(list.Data)-1].ID
		}
		if len(took) != n {
			b.Fatalf("%d of %d events were received", len(took), n)
		}
		slices.Sort(took)
		b.ReportMetric(float64(took[n/2].Microseconds())/1000, "p50-ms")
		b.ReportMetric(float64(took[n*99/100].Microseconds())/1000, "p99-ms")
	})
}

// BenchmarkPendingMemory tells by how much memory grows when 100,000 events wait for a
// receiver that hangs. It measures no time: run it with -benchtime 1x.
func BenchmarkPendingMemory(b *testing.B) {
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	onBothEngines(b, func(b *testing.B, f *fixture) {
		r := f.sendWebhooks(b, true)
		f.subscribe(b, r.url, 10, "page.created")
		before := heap()
		for round := range 10 {
			for _, site := range f.sites {
				f.send(b, "POST", "/v6/pages/batch", batch(site, creates(fmt.Sprint(round), 1000)))
			}
		}
		time.Sleep(2 * time.Second)
		grown := float64(int64(heap())-int64(before)) / (1 << 20)
		b.ResetTimer()
		b.ReportMetric(grown, "MB")
	})
}
