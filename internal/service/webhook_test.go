package service

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"galley/internal/cms"
	"galley/internal/pgtest"
	"galley/internal/sqlstore"
)

// receivers answer what webhooks send, by the host of the URL.
type receivers struct {
	mu     sync.Mutex
	answer map[string]func(ctx context.Context, got received) (cms.WebhookAnswer, error)
	got    []received
}

// received is a request, with the event that its body names.
type received struct {
	host, id    string
	site        string
	number      int // of the event in its site
	at          time.Time
	signatures  int
	began, over int // in the order of everything that happened
}

// bodyOf is how an event is encoded here: by its site, its number and its type.
func bodyOf(e cms.Event) []byte {
	return []byte(e.SiteID.String() + " " + e.Operation + " " + string(e.Type))
}

func (r *receivers) Send(ctx context.Context, m cms.WebhookMessage) (cms.WebhookAnswer, error) {
	host := strings.Trim(strings.TrimPrefix(m.URL, "https://"), "/")
	got := received{host: host, id: m.ID, at: m.At, signatures: len(m.Secrets)}
	fields := strings.Fields(string(m.Body))
	got.site = fields[0]
	_, _ = fmt.Sscanf(fields[1], "n%d", &got.number)
	r.mu.Lock()
	got.began = len(r.got)
	r.got = append(r.got, got)
	answer := r.answer[host]
	r.mu.Unlock()
	result, err := cms.WebhookAnswer{Status: 200}, error(nil)
	if answer != nil {
		result, err = answer(ctx, got)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.got[got.began].over = len(r.got)
	return result, err
}

// of are the requests that a host has received.
func (r *receivers) of(host string) (list []received) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, got := range r.got {
		if got.host == host {
			list = append(list, got)
		}
	}
	return list
}

// hooked is a service with webhooks, whose clock the test moves.
type hooked struct {
	*Service
	*receivers
	who  Caller
	mu   sync.Mutex
	time time.Time
	n    map[cms.ID]int
}

func withWebhooks(t *testing.T, test func(t *testing.T, h *hooked)) {
	t.Run("sqlite", func(t *testing.T) {
		store, err := sqlstore.OpenSQLite(t.TempDir(), nil)
		test(t, newHooked(t, store, err))
	})
	t.Run("postgres", func(t *testing.T) {
		store, err := sqlstore.OpenPostgres(pgtest.URL(t), nil)
		test(t, newHooked(t, store, err))
	})
}

func newHooked(t *testing.T, store *sqlstore.Store, err error) *hooked {
	t.Helper()
	noError(t, err)
	t.Cleanup(func() { _ = store.Close() })
	_, err = store.Migrate(t.Context())
	noError(t, err)
	h := &hooked{receivers: &receivers{answer: map[string]func(context.Context, received) (cms.WebhookAnswer, error){}}, n: map[cms.ID]int{}}
	h.time = time.Now().UTC().Truncate(time.Millisecond)
	h.Service = h.node(t, store)
	first, err := h.FirstStart(t.Context(), Bootstrap{})
	noError(t, err)
	h.who = Caller{App: &first.App, Request: Request{Operation: "test"}}
	return h
}

// node is one more service on a store.
func (h *hooked) node(t *testing.T, store Store) *Service {
	t.Helper()
	s := New(store, h.now, func(any) []byte { return []byte(`{}`) })
	s.Sender, s.EncodeEvent = h.receivers, bodyOf
	s.SecretKey = func() ([]byte, error) { return make([]byte, 32), nil }
	ctx, stop := context.WithCancel(context.Background())
	var following sync.WaitGroup
	following.Go(func() { s.FollowEvents(ctx, func(error) {}) })
	t.Cleanup(func() { stop(); following.Wait() })
	return s
}

func (h *hooked) now() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.time
}

func (h *hooked) pass(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.time = h.time.Add(d)
}

// serve serves webhooks until stop is called or the test ends.
func (h *hooked) serve(t *testing.T, s *Service) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var serving sync.WaitGroup
	serving.Go(func() { s.ServeWebhooks(ctx, func(err error) { t.Log(err) }) })
	stop = sync.OnceFunc(func() { cancel(); serving.Wait() })
	t.Cleanup(stop)
	return stop
}

func (h *hooked) webhook(t *testing.T, host string, change ...func(*cms.WebhookPatch)) cms.Webhook {
	t.Helper()
	patch := cms.WebhookPatch{URL: cms.Some("https://" + host + "/")}
	for _, c := range change {
		c(&patch)
	}
	w, _, err := h.CreateWebhook(t.Context(), h.who, Given(patch))
	noError(t, err)
	noError(t, h.NumberEvents(t.Context()))
	return w
}

// emit commits events of a site, each in a transaction of its own.
func (h *hooked) emit(t *testing.T, site cms.ID, n int) {
	t.Helper()
	for range n {
		h.n[site]++
		noError(t, h.write(t.Context(), func(tx cms.Tx) error {
			return tx.Record(t.Context(), cms.AuditEntry{
				ID: cms.NewID(), WorkspaceID: h.who.WorkspaceID(), Operation: fmt.Sprintf("n%d", h.n[site]), Kind: cms.KindPage, ResourceID: cms.NewID(),
				SiteID: site, After: []byte(`{}`), Type: "page.created",
			})
		}))
	}
}

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// happens waits until a condition holds.
func happens(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for range 2000 {
		if holds() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("it never happened: %s", what)
}

func (h *hooked) deliveries(t *testing.T, w cms.Webhook) []cms.Delivery {
	t.Helper()
	list, err := h.Deliveries(t.Context(), h.who, cms.DeliveryQuery{WebhookID: w.ID, ListQuery: cms.ListQuery{Limit: 100}})
	noError(t, err)
	return list.Items
}

func (h *hooked) statuses(t *testing.T, w cms.Webhook) map[cms.DeliveryStatus]int {
	t.Helper()
	count := map[cms.DeliveryStatus]int{}
	for _, d := range h.deliveries(t, w) {
		count[d.Status]++
	}
	return count
}

func (h *hooked) patch(t *testing.T, w cms.Webhook, patch cms.WebhookPatch) cms.Webhook {
	t.Helper()
	w, err := h.UpdateWebhook(t.Context(), h.who, w.ID, Given(patch), nil)
	noError(t, err)
	noError(t, h.NumberEvents(t.Context()))
	return w
}

// First attempts are made in the order of commits, each after the one before of the
// same site has ended, whatever fails; and a stopped node sends nothing twice.
func TestWebhookOrder(t *testing.T) {
	t.Parallel()
	withWebhooks(t, func(t *testing.T, h *hooked) {
		w := h.webhook(t, "a")
		h.answer["a"] = func(_ context.Context, got received) (cms.WebhookAnswer, error) {
			time.Sleep(time.Duration(got.number%3) * time.Millisecond)
			if got.number%7 == 0 {
				return cms.WebhookAnswer{Status: 500}, nil
			}
			return cms.WebhookAnswer{Status: 200}, nil
		}
		stop := h.serve(t, h.Service)
		sites := []cms.ID{cms.NewID(), cms.NewID(), cms.NewID(), cms.NoID}
		for round := range 60 {
			for _, site := range sites {
				h.emit(t, site, 1)
			}
			if round == 30 {
				stop()
				stop = h.serve(t, h.Service)
			}
		}
		happens(t, "every event arrives", func() bool { return len(h.of("a")) >= 240 })
		stop()
		last := map[string]received{}
		for _, got := range h.of("a") {
			if before := last[got.site]; got.number != before.number+1 || before.over > got.began+1 {
				t.Fatalf("after %+v came %+v", before, got)
			}
			last[got.site] = got
		}
		if n := len(h.of("a")); n != 240 {
			t.Errorf("%d requests for 240 events", n)
		}
		stored, err := h.store.Webhook(t.Context(), w.ID)
		noError(t, err)
		if head, _ := h.store.LastPosition(t.Context(), w.WorkspaceID); stored.Position != head {
			t.Errorf("the position is %d of %d", stored.Position, head)
		}
	})
}

func TestWebhookWaitsForNoOther(t *testing.T) {
	t.Parallel()
	withWebhooks(t, func(t *testing.T, h *hooked) {
		dead := h.webhook(t, "dead", func(p *cms.WebhookPatch) { p.Types = cms.Some([]cms.EventType{"page.created"}) })
		healthy := h.webhook(t, "healthy")
		h.answer["dead"] = func(ctx context.Context, _ received) (cms.WebhookAnswer, error) {
			<-ctx.Done()
			return cms.WebhookAnswer{}, ctx.Err()
		}
		h.serve(t, h.Service)
		site := cms.NewID()
		start := time.Now()
		h.emit(t, site, 40)
		happens(t, "the healthy one has all", func() bool { return len(h.of("healthy")) == 40 })
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("it took %s", took)
		}
		happens(t, "what waits is shown", func() bool { return h.statuses(t, dead)[cms.DeliveryPending] > 0 })
		happens(t, "what arrived is shown", func() bool { return h.statuses(t, healthy)[cms.DeliveryDelivered] == 40 })
		if n := len(h.of("dead")); n != 1 {
			t.Errorf("%d first attempts of one site at a time", n)
		}
	})
}

var delays = []time.Duration{
	5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
}

func TestWebhookRetries(t *testing.T) {
	t.Parallel()
	withWebhooks(t, func(t *testing.T, h *hooked) {
		w := h.webhook(t, "a")
		h.answer["a"] = func(context.Context, received) (cms.WebhookAnswer, error) {
			h.pass(700 * time.Millisecond) // the next is counted from the end
			return cms.WebhookAnswer{Status: 503, Text: "busy"}, nil
		}
		h.serve(t, h.Service)
		h.emit(t, cms.NewID(), 1)
		for i := 0; ; i++ {
			var d cms.Delivery
			happens(t, fmt.Sprintf("attempt %d is stored", i+1), func() bool {
				all := h.deliveries(t, w)
				if len(all) == 1 {
					d = all[0]
				}
				return len(d.Attempts) == i+1
			})
			if i == len(delays) {
				if d.Status != cms.DeliveryFailed || d.NextAttemptAt != nil {
					t.Errorf("after all attempts it is %+v", d)
				}
				break
			}
			end := d.Attempts[i].At.Add(d.Attempts[i].Took)
			if d.Attempts[i].Took < 700*time.Millisecond {
				t.Errorf("attempt %d took %s", i, d.Attempts[i].Took)
			}
			if wait := d.NextAttemptAt.Sub(end); d.Status != cms.DeliveryPending || wait < delays[i] || wait > delays[i]+delays[i]/10 {
				t.Errorf("attempt %d comes %s after the one before, want %s and up to a tenth more", i+2, wait, delays[i])
			}
			before := len(h.of("a"))
			h.pass(d.NextAttemptAt.Sub(h.now()) - time.Millisecond)
			time.Sleep(4 * serveTick)
			if len(h.of("a")) != before {
				t.Fatalf("attempt %d was made too early", i+2)
			}
			h.pass(time.Millisecond)
		}
		ids := map[string]bool{}
		for _, got := range h.of("a") {
			ids[got.id] = true
		}
		if len(ids) != 1 || len(h.of("a")) != 10 {
			t.Errorf("%d attempts with %d ids", len(h.of("a")), len(ids))
		}
	})
}

func TestWebhookHonoursRetryAfter(t *testing.T) {
	t.Parallel()
	withWebhooks(t, func(t *testing.T, h *hooked) {
		h.serve(t, h.Service)
		for header, want := range map[string]time.Duration{
			"1": 5 * time.Second, "3600": time.Hour, "8640000": 24 * time.Hour, "soon": 5 * time.Second, "-5": 5 * time.Second,
			"Fri, 31 Dec 2100 23:59:59 GMT": 24 * time.Hour, "Fri, 31 Dec 1999 23:59:59 GMT": 5 * time.Second,
		} {
			host := fmt.Sprintf("host-%x", header)
			h.answer[host] = func(context.Context, received) (cms.WebhookAnswer, error) {
				return cms.WebhookAnswer{Status: 429, RetryAfter: header}, nil
			}
			w := h.webhook(t, host, func(p *cms.WebhookPatch) { p.Types = cms.Some([]cms.EventType{"page.created"}) })
			h.emit(t, cms.NewID(), 1)
			happens(t, "the attempt is stored", func() bool { return len(h.deliveries(t, w)) == 1 && h.deliveries(t, w)[0].NextAttemptAt != nil })
			d := h.deliveries(t, w)[0]
			if wait := d.NextAttemptAt.Sub(d.Attempts[0].At.Add(d.Attempts[0].Took)); wait < want || wait > want+want/10 {
				t.Errorf("Retry-After: %s: it waits %s, want %s", header, wait, want)
			}
			noError(t, h.DeleteWebhook(t.Context(), h.who, w.ID, nil))
		}
	})
}

func TestWebhookIsDisabledBy410(t *testing.T) {
	t.Parallel()
	withWebhooks(t, func(t *testing.T, h *hooked) {
		w := h.webhook(t, "a", func(p *cms.WebhookPatch) { p.Types = cms.Some([]cms.EventType{"page.created"}) })
		status := 500
		h.answer["a"] = func(_ context.Context, got received) (cms.WebhookAnswer, error) {
			if got.number == 3 {
				return cms.WebhookAnswer{Status: 410}, nil
			}
			return cms.WebhookAnswer{Status: status}, nil
		}
		h.serve(t, h.Service)
		h.emit(t, cms.NewID(), 5)
		disabled := func() bool { w, _ = h.Webhook(t.Context(), h.who, w.ID); return !w.IsEnabled }
		happens(t, "it is disabled", disabled)
		if w.DisabledReason == nil || *w.DisabledReason != "The receiver answered 410 Gone" {
			t.Errorf("the reason is %v", w.DisabledReason)
		}
		happens(t, "nothing is pending", func() bool { return h.statuses(t, w)[cms.DeliveryPending] == 0 })
		noError(t, h.NumberEvents(t.Context()))
		list, err := h.Events(t.Context(), h.who, ReadEvents{Types: []cms.EventType{"webhook.updated"}, ListQuery: cms.ListQuery{Limit: 9}})
		noError(t, err)
		if len(list.Items) != 1 || list.Items[0].ResourceID != w.ID || !slices.Equal(list.Items[0].Fields, []string{"isEnabled"}) {
			t.Errorf("the events are %+v", list.Items)
		}
		// What was committed before it is enabled again is not sent.
		sent := len(h.of("a"))
		h.emit(t, cms.NewID(), 2)
		status = 200
		w = h.patch(t, w, cms.WebhookPatch{IsEnabled: cms.Some(true)})
		if w.DisabledReason != nil {
			t.Errorf("the reason is still %s", *w.DisabledReason)
		}
		after := cms.NewID()
		h.emit(t, after, 2)
		happens(t, "what comes then is sent", func() bool { return len(h.of("a")) == sent+2 })
		for _, got := range h.of("a")[sent:] {
			if got.site != after.String() {
				t.Errorf("it was sent %+v", got)
			}
		}
	})
}

func TestWebhookIsDisabledByFiveDaysOfFailures(t *testing.T) {
	t.Parallel()
	withWebhooks(t, func(t *testing.T, h *hooked) {
		w := h.webhook(t, "a", func(p *cms.WebhookPatch) { p.Types = cms.Some([]cms.EventType{"page.created"}) })
		var mu sync.Mutex
		works := false
		h.answer["a"] = func(context.Context, received) (cms.WebhookAnswer, error) {
			mu.Lock()
			defer mu.Unlock()
			if works {
				return cms.WebhookAnswer{Status: 204}, nil
			}
			return cms.WebhookAnswer{}, errors.New("connection refused")
		}
		h.serve(t, h.Service)
		site := cms.NewID()
		days := func(n float64) {
			t.Helper()
			h.pass(time.Duration(n * 24 * float64(time.Hour)))
			before := len(h.of("a"))
			h.emit(t, site, 1)
			happens(t, "it is tried", func() bool { return len(h.of("a")) > before })
			time.Sleep(6 * saveEvery)
			var err error
			w, err = h.Webhook(t.Context(), h.who, w.ID)
			noError(t, err)
		}
		days(0)
		days(4.9)
		if !w.IsEnabled || w.FailingSince == nil {
			t.Fatalf("after 4.9 days it is %+v", w)
		}
		mu.Lock()
		works = true
		mu.Unlock()
		days(0.2)
		mu.Lock()
		works = false
		mu.Unlock()
		days(0.1)
		days(4.95)
		if !w.IsEnabled {
			t.Fatalf("4.95 days after a success it is disabled: %s", *w.DisabledReason)
		}
		days(0.06)
		happens(t, "it is disabled", func() bool { w, _ = h.Webhook(t.Context(), h.who, w.ID); return !w.IsEnabled })
		if w.DisabledReason == nil || *w.DisabledReason != "Every attempt of five days has failed" {
			t.Errorf("the reason is %v", w.DisabledReason)
		}
	})
}

func TestWebhookChangesFailWhatIsPending(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]cms.WebhookPatch{
		"disabled": {IsEnabled: cms.Some(false)},
		"moved":    {URL: cms.Some("https://b/")},
	} {
		t.Run(name, func(t *testing.T) {
			withWebhooks(t, func(t *testing.T, h *hooked) {
				w := h.webhook(t, "a", func(p *cms.WebhookPatch) { p.Types = cms.Some([]cms.EventType{"page.created"}) })
				hold := make(chan struct{})
				h.answer["a"] = func(_ context.Context, got received) (cms.WebhookAnswer, error) {
					if got.number == 2 {
						<-hold
					}
					return cms.WebhookAnswer{Status: 500}, nil
				}
				h.serve(t, h.Service)
				h.emit(t, cms.NewID(), 5) // one waits for its next attempt, one is under way, three wait for it
				happens(t, "they are pending", func() bool { return h.statuses(t, w)[cms.DeliveryPending] == 5 })
				h.patch(t, w, change)
				if got := h.statuses(t, w); got[cms.DeliveryFailed] != 5 {
					t.Errorf("they are %v", got)
				}
				close(hold)
				h.emit(t, cms.NewID(), 1)
				if name == "moved" {
					happens(t, "what comes then is sent", func() bool { return len(h.of("b")) == 1 })
				}
				h.pass(time.Hour)
				time.Sleep(8 * serveTick)
				if a, b := len(h.of("a")), len(h.of("b")); a != 2 || b > 1 {
					t.Errorf("%d and %d requests", a, b)
				}
				if got := h.statuses(t, w); got[cms.DeliveryFailed] != 5 {
					t.Errorf("in the end they are %v", got)
				}
			})
		})
	}
}

func TestWebhookFilters(t *testing.T) {
	t.Parallel()
	withWebhooks(t, func(t *testing.T, h *hooked) {
		first, err := h.CreateSite(t.Context(), h.who, Given(cms.NewSite{SitePatch: cms.SitePatch{Name: cms.Some("First")}}))
		noError(t, err)
		second, err := h.CreateSite(t.Context(), h.who, Given(cms.NewSite{SitePatch: cms.SitePatch{Name: cms.Some("Second")}}))
		noError(t, err)
		sites := func(ids ...cms.ID) func(*cms.WebhookPatch) {
			return func(p *cms.WebhookPatch) { p.SiteIDs = cms.Some(ids) }
		}
		types := func(types ...cms.EventType) func(*cms.WebhookPatch) {
			return func(p *cms.WebhookPatch) { p.Types = cms.Some(types) }
		}
		h.webhook(t, "all")
		h.webhook(t, "first", sites(first.ID))
		h.webhook(t, "both", sites(first.ID, second.ID))
		h.webhook(t, "other-type", types("page.deleted"))
		h.webhook(t, "type", types("page.created", "page.deleted"))
		h.webhook(t, "type-of-first", sites(first.ID), types("page.created"))
		h.webhook(t, "off", func(p *cms.WebhookPatch) { p.IsEnabled = cms.Some(false) })
		h.serve(t, h.Service)
		h.emit(t, first.ID, 3)
		h.emit(t, second.ID, 2)
		h.emit(t, cms.NoID, 1)
		happens(t, "all are sent", func() bool { return len(h.of("all")) == 12 && len(h.of("type")) == 6 })
		time.Sleep(4 * serveTick)
		// Those made after the first are webhooks that it is told of.
		for host, want := range map[string]int{"all": 12, "first": 3, "both": 5, "other-type": 0, "type": 6, "type-of-first": 3, "off": 0} {
			if got := len(h.of(host)); got != want {
				t.Errorf("%s got %d, want %d", host, got, want)
			}
		}
	})
}

func TestWebhookTestRedeliverReplay(t *testing.T) {
	t.Parallel()
	withWebhooks(t, func(t *testing.T, h *hooked) {
		site := cms.NewID()
		h.emit(t, site, 30) // before the webhook
		w := h.webhook(t, "a", func(p *cms.WebhookPatch) { p.Types = cms.Some([]cms.EventType{"page.created"}) })
		status := 500
		var mu sync.Mutex
		h.answer["a"] = func(context.Context, received) (cms.WebhookAnswer, error) {
			mu.Lock()
			defer mu.Unlock()
			return cms.WebhookAnswer{Status: status}, nil
		}
		set := func(s int) { mu.Lock(); defer mu.Unlock(); status = s }
		h.serve(t, h.Service)
		h.emit(t, site, 1)
		attempts := func(id cms.ID, n int) (d cms.Delivery) {
			t.Helper()
			happens(t, "the attempt is stored", func() bool {
				d, _ = h.Delivery(t.Context(), h.who, id)
				return len(d.Attempts) == n
			})
			return d
		}
		happens(t, "it is stored", func() bool { return len(h.deliveries(t, w)) == 1 })
		d := attempts(h.deliveries(t, w)[0].ID, 1)
		planned := *d.NextAttemptAt

		// One more attempt leaves the schedule as it is.
		if again, err := h.Redeliver(t.Context(), h.who, d.ID, nil); err != nil || again.Status != cms.DeliveryPending {
			t.Fatal(again, err)
		}
		if d = attempts(d.ID, 2); d.Status != cms.DeliveryPending || !d.NextAttemptAt.Equal(planned) {
			t.Errorf("after one more attempt it is %+v", d)
		}
		set(200)
		_, err := h.Redeliver(t.Context(), h.who, d.ID, nil)
		noError(t, err)
		if d = attempts(d.ID, 3); d.Status != cms.DeliveryDelivered || d.NextAttemptAt != nil {
			t.Errorf("after a success it is %+v", d)
		}
		_, err = h.Redeliver(t.Context(), h.who, d.ID, nil)
		noError(t, err)
		attempts(d.ID, 4)

		before := len(h.of("a"))
		count, err := h.ReplayWebhook(t.Context(), h.who, w.ID, Given(cms.Replay{Since: cms.Some(h.now().Add(-time.Hour))}))
		if noError(t, err); count != 31 {
			t.Errorf("%d events are replayed", count)
		}
		happens(t, "all are sent again", func() bool { return len(h.of("a")) == before+31 })
		for i, got := range h.of("a")[before:] {
			if got.number != i+1 {
				t.Fatalf("the %d. is %+v", i+1, got)
			}
		}
		happens(t, "the replay has ended", func() bool { left, _ := h.store.Replays(t.Context(), w.ID); return len(left) == 0 })
		if n := len(h.deliveries(t, w)); n != 32 {
			t.Errorf("%d deliveries", n)
		}

		// A test has one attempt, and works while the webhook is disabled.
		h.patch(t, w, cms.WebhookPatch{IsEnabled: cms.Some(false)})
		set(500)
		test, err := h.TestWebhook(t.Context(), h.who, w.ID, nil)
		noError(t, err)
		if test = attempts(test.ID, 1); test.Status != cms.DeliveryFailed || test.EventType != cms.EventTest {
			t.Errorf("the test is %+v", test)
		}
		if _, err := h.Redeliver(t.Context(), h.who, d.ID, nil); cms.CodeOf(err) != cms.CodeConflict {
			t.Errorf("redelivered although it is disabled: %v", err)
		}
		if _, err := h.ReplayWebhook(t.Context(), h.who, w.ID, Given(cms.Replay{Since: cms.Some(h.now())})); cms.CodeOf(err) != cms.CodeConflict {
			t.Errorf("replayed although it is disabled: %v", err)
		}
	})
}

// Two nodes serve each webhook once, and one takes over what the other leaves.
func TestWebhooksOfTwoNodes(t *testing.T) {
	t.Parallel()
	address := pgtest.URL(t)
	store, err := sqlstore.OpenPostgres(address, nil)
	h := newHooked(t, store, err)
	second, err := sqlstore.OpenPostgres(address, nil)
	noError(t, err)
	defer func() { _ = second.Close() }()
	other := h.node(t, second)
	var hosts []string
	for i := range 5 {
		hosts = append(hosts, fmt.Sprint("host", i))
		h.webhook(t, hosts[i], func(p *cms.WebhookPatch) { p.Types = cms.Some([]cms.EventType{"page.created"}) })
	}
	stop := h.serve(t, h.Service)
	h.serve(t, other)
	all := func(n int) func() bool {
		return func() bool {
			return !slices.ContainsFunc(hosts, func(host string) bool { return len(h.of(host)) < n })
		}
	}
	site := cms.NewID()
	h.emit(t, site, 20)
	happens(t, "all are sent", all(20))
	stop()
	h.emit(t, site, 20)
	happens(t, "the other node goes on", all(40))
	for _, host := range hosts {
		if n := len(h.of(host)); n != 40 {
			t.Errorf("%s got %d requests for 40 events", host, n)
		}
	}
}

// A webhook whose secret a node can't decrypt is left to others.
func TestWebhookOfAnotherKey(t *testing.T) {
	t.Parallel()
	address := pgtest.URL(t)
	store, err := sqlstore.OpenPostgres(address, nil)
	h := newHooked(t, store, err)
	second, err := sqlstore.OpenPostgres(address, nil)
	noError(t, err)
	defer func() { _ = second.Close() }()
	wrong := h.node(t, second)
	wrong.SecretKey = func() ([]byte, error) { return slices.Repeat([]byte{1}, 32), nil }
	h.webhook(t, "a")
	h.serve(t, wrong)
	h.emit(t, cms.NewID(), 1)
	happens(t, "the wrong node gives up", func() bool {
		w, _ := h.store.Webhooks(t.Context(), h.who.WorkspaceID())
		served, _ := h.store.ServedWebhooks(t.Context(), w[0].ID)
		return len(served) == 0
	})
	h.serve(t, h.Service)
	for range 3 {
		h.pass(leaseTime + time.Second)
		time.Sleep(servePoll + 100*time.Millisecond)
	}
	happens(t, "the right node sends", func() bool { return len(h.of("a")) == 1 })
}
