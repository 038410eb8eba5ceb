package storetest

import (
	"slices"
	"testing"
	"time"

	"galley/internal/cms"
)

func newWebhook(workspaceID cms.ID) cms.Webhook {
	return cms.Webhook{
		ID: cms.NewID(), WorkspaceID: workspaceID, URL: "https://example.com/", IsEnabled: true, CreatedAt: at, UpdatedAt: at, Secret: []byte{1},
	}
}

// aWebhook stores a webhook of a new workspace.
func aWebhook(t *testing.T, store cms.Store) cms.Webhook {
	t.Helper()
	w := newWebhook(aWorkspace(t, store))
	write(t, store, func(tx cms.Tx) error { return tx.CreateWebhook(t.Context(), w) })
	return w
}

func fullWebhook(workspaceID cms.ID) cms.Webhook {
	w := newWebhook(workspaceID)
	w.Types, w.SiteIDs, w.Description = []cms.EventType{"page.created", "app.deleted"}, []cms.ID{cms.NewID(), cms.NewID()}, new("For \"us\"")
	w.IsEnabled, w.DisabledReason, w.UpdatedAt = false, new("410"), later(1)
	w.Secret, w.OldSecret, w.OldSecretEnds = []byte{0, 255}, []byte{2, 0}, new(later(2))
	w.StartsAfter, w.Position, w.FailingSince, w.Revision = cms.NewID(), 1<<40, new(later(3)), 7
	return w
}

func webhookKept(t *testing.T, store cms.Store) {
	workspace := aWorkspace(t, store)
	full, bare := fullWebhook(workspace), newWebhook(workspace)
	for name, want := range map[string]cms.Webhook{"full": full, "bare": bare} {
		write(t, store, func(tx cms.Tx) error { return tx.CreateWebhook(t.Context(), want) })
		same(t, name, value(store.Webhook(t.Context(), want.ID))(t), want)
	}
	changed := fullWebhook(workspace)
	changed.ID, changed.CreatedAt, changed.URL = bare.ID, bare.CreatedAt, "http://other.example.com/"
	write(t, store, func(tx cms.Tx) error {
		same(t, "locked", value(tx.LockWebhook(t.Context(), bare.ID))(t), bare)
		return tx.UpdateWebhook(t.Context(), changed)
	})
	same(t, "changed", value(store.Webhook(t.Context(), bare.ID))(t), changed)
	same(t, "the other", value(store.Webhook(t.Context(), full.ID))(t), full)
	_, err := store.Webhook(t.Context(), cms.NewID())
	wantNotFound(t, "unknown", cms.KindWebhook, err)
}

func webhookList(t *testing.T, store cms.Store) {
	workspace := aWorkspace(t, store)
	var want []cms.Webhook
	for i := range 3 {
		w := newWebhook(workspace)
		if i == 1 {
			w.DeletedAt = new(later(1))
		} else {
			want = append(want, w)
		}
		write(t, store, func(tx cms.Tx) error { return tx.CreateWebhook(t.Context(), w) })
	}
	aWebhook(t, store)
	same(t, "Webhooks", value(store.Webhooks(t.Context(), workspace))(t), want)
	write(t, store, func(tx cms.Tx) error {
		same(t, "LockWebhooks", value(tx.LockWebhooks(t.Context(), workspace))(t), 2)
		return nil
	})
}

func webhookLeases(t *testing.T, store cms.Store) {
	first, second, gone := aWebhook(t, store), aWebhook(t, store), aWebhook(t, store)
	gone.DeletedAt = new(at)
	a, b := cms.NewID(), cms.NewID()
	do := func(work func(tx cms.Tx) error) { t.Helper(); write(t, store, work) }
	served := func(node cms.ID) (ids []cms.ID) {
		t.Helper()
		for _, w := range value(store.ServedWebhooks(t.Context(), node))(t) {
			ids = append(ids, w.ID)
		}
		return cms.SortIDs(ids)
	}
	do(func(tx cms.Tx) error { return tx.UpdateWebhook(t.Context(), gone) })
	do(func(tx cms.Tx) error { return tx.ServeWebhooks(t.Context(), a, at, later(1), 1) })
	do(func(tx cms.Tx) error { return tx.ServeWebhooks(t.Context(), b, at, later(1), 10) })
	all := cms.SortIDs(append(served(a), served(b)...))
	same(t, "each has one", []int{len(served(a)), len(served(b))}, []int{1, 1})
	sameList(t, "together", all, cms.SortIDs([]cms.ID{first.ID, second.ID}))
	do(func(tx cms.Tx) error { return tx.KeepServing(t.Context(), a, later(3)) })
	do(func(tx cms.Tx) error { return tx.ServeWebhooks(t.Context(), a, later(1), later(3), 10) })
	same(t, "none at its very end", len(served(a)), 1)
	do(func(tx cms.Tx) error { return tx.ServeWebhooks(t.Context(), a, later(2), later(3), 10) })
	sameList(t, "all of a dead node", served(a), all)
	do(func(tx cms.Tx) error {
		same(t, "LockServed", value(tx.LockServed(t.Context(), first.ID, a))(t), first)
		_, err := tx.LockServed(t.Context(), first.ID, b)
		wantNotFound(t, "LockServed by another", cms.KindWebhook, err)
		return tx.YieldWebhook(t.Context(), first.ID, b, later(9)) // of another node
	})
	sameList(t, "after another yields", served(a), all)
	do(func(tx cms.Tx) error { return tx.YieldWebhook(t.Context(), first.ID, a, later(5)) })
	do(func(tx cms.Tx) error { return tx.ServeWebhooks(t.Context(), b, later(4), later(6), 10) })
	sameList(t, "after it yields", slices.Concat(served(a), served(b)), []cms.ID{second.ID})
	do(func(tx cms.Tx) error { return tx.StopServing(t.Context(), a) })
	do(func(tx cms.Tx) error { return tx.ServeWebhooks(t.Context(), b, later(6), later(7), 10) })
	sameList(t, "after it stops", served(b), all)
}

func webhookReplays(t *testing.T, store cms.Store) {
	w, other := aWebhook(t, store), aWebhook(t, store)
	want := []cms.WebhookReplay{
		{WebhookID: w.ID, ID: cms.NewID(), Since: at, Until: 10}, {WebhookID: w.ID, ID: cms.NewID(), Since: later(1), Position: 2, Until: 1 << 40},
	}
	write(t, store, func(tx cms.Tx) error {
		for _, p := range append(want, cms.WebhookReplay{WebhookID: other.ID, ID: cms.NewID(), Since: at}) {
			must(t, tx.SaveReplay(t.Context(), p))
		}
		want[0].Position = 5
		return tx.SaveReplay(t.Context(), want[0])
	})
	same(t, "Replays", value(store.Replays(t.Context(), w.ID))(t), want)
	write(t, store, func(tx cms.Tx) error { return tx.DeleteReplay(t.Context(), w.ID, want[0].ID) })
	same(t, "after one has ended", value(store.Replays(t.Context(), w.ID))(t), want[1:])
	write(t, store, func(tx cms.Tx) error { return tx.FailDeliveries(t.Context(), w.ID) })
	sameList(t, "after all failed", value(store.Replays(t.Context(), w.ID))(t), nil)
	same(t, "of another", len(value(store.Replays(t.Context(), other.ID))(t)), 1)
}

func webhookCount(t *testing.T, store cms.Store) {
	w, shop, blog := aWorkspace(t, store), cms.NewID(), cms.NewID()
	record(t, store, anEvent(w, "page.created", shop), anEvent(w, "page.updated", blog), anEvent(w, "page.updated", shop), anEvent(w, "app.created", cms.NoID))
	record(t, store, anEvent(aWorkspace(t, store), "page.created", cms.NewID()))
	number(t, store)
	second := value(store.Events(t.Context(), cms.EventQuery{WorkspaceID: w, Limit: 2}))(t)[1]
	for name, q := range map[string]cms.EventQuery{
		"all": {Limit: 9}, "after": {After: 1, Limit: 2}, "types": {Types: []cms.EventType{"app.created", "page.updated"}, Limit: 2},
		"sites": {Types: []cms.EventType{"page.created", "page.updated"}, Sites: []cms.ID{shop, cms.NewID()}, Limit: 9},
	} {
		q.WorkspaceID = w
		var want []cms.Event
		for _, e := range value(store.Events(t.Context(), q))(t) {
			want = append(want, cms.Event{AuditEntry: cms.AuditEntry{ID: e.ID, WorkspaceID: w, SiteID: e.SiteID, Type: e.Type}, Position: e.Position})
		}
		same(t, "keys of "+name, value(store.EventKeys(t.Context(), q))(t), want)
	}
	for name, c := range map[string]struct {
		q     cms.EventQuery
		until int64
		want  int
	}{
		"all":               {cms.EventQuery{}, 9, 4},
		"up to a position":  {cms.EventQuery{}, 2, 2},
		"of a type":         {cms.EventQuery{Types: []cms.EventType{"page.updated", "app.created"}}, 9, 3},
		"of sites":          {cms.EventQuery{Sites: []cms.ID{shop, cms.NewID()}}, 9, 2},
		"of a type and one": {cms.EventQuery{Types: []cms.EventType{"page.updated"}, Sites: []cms.ID{shop}}, 9, 1},
		"since long ago":    {cms.EventQuery{Since: new(second.At().Add(-time.Hour))}, 9, 4},
		"since later":       {cms.EventQuery{Since: new(second.At().Add(time.Hour))}, 9, 0},
	} {
		c.q.WorkspaceID = w
		same(t, name, value(store.CountEvents(t.Context(), c.q, c.until))(t), c.want)
	}
}

func newDelivery(webhookID cms.ID, status cms.DeliveryStatus) cms.Delivery {
	return cms.Delivery{ID: cms.NewID(), WebhookID: webhookID, EventID: cms.NewID(), EventType: "page.created", Status: status}
}

func saveDeliveries(t *testing.T, store cms.Store, deliveries ...cms.Delivery) {
	t.Helper()
	write(t, store, func(tx cms.Tx) error { return tx.SaveDeliveries(t.Context(), deliveries...) })
}

func deliveryKept(t *testing.T, store cms.Store) {
	bare, full := newDelivery(cms.NewID(), cms.DeliveryPending), newDelivery(cms.NewID(), cms.DeliveryFailed)
	full.Attempts = []cms.Attempt{
		{At: at, Took: 15 * time.Second, Error: "no \"answer\""},
		{At: later(1), Took: time.Millisecond, Status: 500, Response: "NUL \x00, é and \u2028"},
	}
	full.Tries, full.NextAttemptAt, full.Extra, full.Then = 2, new(later(2)), true, new(later(3))
	saveDeliveries(t, store, bare, full)
	same(t, "bare", value(store.Delivery(t.Context(), bare.ID))(t), bare)
	same(t, "full", value(store.Delivery(t.Context(), full.ID))(t), full)
	full.Status, full.Attempts, full.Tries, full.NextAttemptAt, full.Extra, full.Then = cms.DeliveryDelivered, full.Attempts[:1], 3, nil, false, nil
	saveDeliveries(t, store, full)
	write(t, store, func(tx cms.Tx) error {
		same(t, "saved again", value(tx.LockDelivery(t.Context(), full.ID))(t), full)
		return nil
	})
	same(t, "DeliveriesByID", value(store.DeliveriesByID(t.Context(), []cms.ID{full.ID, cms.NewID()}))(t), map[cms.ID]cms.Delivery{full.ID: full})
	_, err := store.Delivery(t.Context(), cms.NewID())
	wantNotFound(t, "unknown", cms.KindDelivery, err)
}

func deliveryList(t *testing.T, store cms.Store) {
	webhook := cms.NewID()
	var all []cms.Delivery
	for i := range 9 {
		all = append(all, newDelivery(webhook, cms.DeliveryStatuses[i%3]))
	}
	saveDeliveries(t, store, append(slices.Clone(all), newDelivery(cms.NewID(), cms.DeliveryPending))...)
	slices.Reverse(all)
	list := func(status cms.DeliveryStatus, after cms.ID, limit int) []cms.Delivery {
		t.Helper()
		return value(store.Deliveries(t.Context(), cms.DeliveryQuery{WebhookID: webhook, Status: status, ListQuery: cms.ListQuery{After: after, Limit: limit}}))(t)
	}
	same(t, "all", list("", cms.NoID, 20), all)
	same(t, "one more than the limit", list("", cms.NoID, 4), all[:5])
	same(t, "after the cursor", list("", all[3].ID, 2), all[4:7])
	same(t, "by status", list(cms.DeliveryFailed, cms.NoID, 20), []cms.Delivery{all[0], all[3], all[6]})
	same(t, "by status, after a cursor of another", list(cms.DeliveryFailed, all[1].ID, 1), []cms.Delivery{all[3], all[6]})
}

func deliveryNext(t *testing.T, store cms.Store) {
	webhook := cms.NewID()
	var all []cms.Delivery
	for _, minutes := range []int{3, 1, 2, 0} {
		d := newDelivery(webhook, cms.DeliveryPending)
		d.NextAttemptAt = new(later(minutes))
		all = append(all, d)
	}
	test := newDelivery(webhook, cms.DeliveryPending)
	test.EventType, test.NextAttemptAt = cms.EventTest, new(later(4))
	saveDeliveries(t, store, append(all, newDelivery(webhook, cms.DeliveryPending), test)...)
	same(t, "the earliest first", value(store.NextDeliveries(t.Context(), webhook, 3))(t), []cms.Delivery{all[3], all[1], all[2]})
	write(t, store, func(tx cms.Tx) error { return tx.FailDeliveries(t.Context(), webhook) })
	same(t, "but for tests, all fail", value(store.NextDeliveries(t.Context(), webhook, 9))(t), []cms.Delivery{test})
	same(t, "failed", value(store.Delivery(t.Context(), all[0].ID))(t).Status, cms.DeliveryFailed)
}

func deliveryPurge(t *testing.T, store cms.Store) {
	webhook := cms.NewID()
	var all []cms.Delivery
	for i := range 5 {
		d := newDelivery(webhook, cms.DeliveryStatuses[i%3])
		d.ID = cms.AuditBefore(later(i))
		d.ID[6], d.ID[8], d.ID[15] = 0x70, 0x80, 1
		all = append(all, d)
	}
	saveDeliveries(t, store, all...)
	write(t, store, func(tx cms.Tx) error {
		same(t, "within the limit", value(tx.PurgeDeliveries(t.Context(), later(3), 2))(t), 2)
		same(t, "the rest", value(tx.PurgeDeliveries(t.Context(), later(3), 9))(t), 1)
		return nil
	})
	left := value(store.DeliveriesByID(t.Context(), []cms.ID{all[0].ID, all[1].ID, all[2].ID, all[3].ID, all[4].ID}))(t)
	same(t, "what is left", left, map[cms.ID]cms.Delivery{all[3].ID: all[3], all[4].ID: all[4]})
}
