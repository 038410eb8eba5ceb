package storetest

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"galley/internal/cms"
)

func newPublish(siteID cms.ID, seq int64) cms.Publish {
	p := cms.Publish{ID: cms.NewID(), SiteID: siteID, Seq: seq, Status: cms.StatusPublished, CreatedAt: at, CreatedBy: cms.NewID()}
	if seq > 0 {
		p.PublishedAt = new(later(int(seq)))
		p.CreatedAt = later(int(seq))
	}
	return p
}

// scheduled is a publish that is due at a time.
func scheduled(siteID cms.ID, due time.Time) cms.Publish {
	p := newPublish(siteID, 0)
	p.Status, p.PublishAt = cms.StatusScheduled, &due
	return p
}

func createPublishes(t *testing.T, store cms.Store, publishes ...cms.Publish) {
	t.Helper()
	write(t, store, func(tx cms.Tx) error {
		return each(publishes, func(p cms.Publish) error { return tx.CreatePublish(t.Context(), p) })
	})
}

func publishID(p cms.Publish) cms.ID { return p.ID }

func publishKept(t *testing.T, store cms.Store) {
	site, other := aSite(t, store), aSite(t, store)
	bare, full := scheduled(site.ID, later(5)), newPublish(site.ID, 1)
	full.Name, full.Reason, full.ChangeCount, full.Confirm = new("Über"), new("why"), 7, true
	full.PublishAt, full.PreviousID, full.RestoredFrom = new(later(3)), new(cms.NewID()), new(cms.NewID())
	full.Select = cms.Selection{PageIDs: []cms.ID{cms.NewID(), cms.NewID()}, Locales: []cms.ID{cms.NoID, cms.NewID()}}
	createPublishes(t, store, bare, full)
	for _, p := range []cms.Publish{bare, full} {
		same(t, "Publish", value(store.Publish(t.Context(), site.ID, p.ID))(t), p)
		same(t, "SiteOf", value(store.SiteOf(t.Context(), cms.KindPublish, p.ID))(t), site.ID)
		write(t, store, func(tx cms.Tx) error {
			same(t, "LockPublish", value(tx.LockPublish(t.Context(), site.ID, p.ID))(t), p)
			return nil
		})
	}
	bare.Seq, bare.Status, bare.PublishedAt, bare.ChangeCount = 2, cms.StatusFailed, new(later(9)), 3
	bare.PreviousID, bare.Reason = &full.ID, new("a clash")
	write(t, store, func(tx cms.Tx) error { return tx.UpdatePublish(t.Context(), bare) })
	same(t, "updated", value(store.Publish(t.Context(), site.ID, bare.ID))(t), bare)
	same(t, "beside it", value(store.Publish(t.Context(), site.ID, full.ID))(t), full)
	_, err := store.Publish(t.Context(), other.ID, full.ID)
	wantNotFound(t, "of another site", cms.KindPublish, err)
	_, err = store.Publish(t.Context(), site.ID, cms.NewID())
	wantNotFound(t, "unknown", cms.KindPublish, err)
}

func publishLast(t *testing.T, store cms.Store) {
	site, other := aSite(t, store), aSite(t, store)
	_, err := store.LastPublish(t.Context(), site.ID)
	wantNotFound(t, "none", cms.KindPublish, err)
	// The last to go live may have been asked for first.
	last := newPublish(site.ID, 11)
	last.CreatedAt = at
	createPublishes(t, store, newPublish(site.ID, 9), last, newPublish(site.ID, 10), scheduled(site.ID, later(1)), newPublish(other.ID, 12))
	same(t, "LastPublish", value(store.LastPublish(t.Context(), site.ID))(t), last)
	wantCode(t, "a number twice", cms.CodeConflict, store.InTx(t.Context(), func(tx cms.Tx) error {
		return tx.CreatePublish(t.Context(), newPublish(site.ID, 11))
	}))
}

func publishScheduled(t *testing.T, store cms.Store) {
	site, foreign := aSite(t, store), aSite(t, store)
	second := newSite(site.WorkspaceID)
	createSite(t, store, second)
	app := newApp(site.WorkspaceID)
	write(t, store, func(tx cms.Tx) error { return tx.CreateApp(t.Context(), app, cms.KeyHash{9}) })
	list := []cms.Publish{scheduled(site.ID, later(3)), scheduled(second.ID, later(1)), scheduled(site.ID, later(2))}
	list[1].CreatedBy, list[1].CreatedName = app.ID, app.Name
	canceled := scheduled(site.ID, later(1))
	canceled.Status = cms.StatusCanceled
	createPublishes(t, store, list[2], list[0], list[1], canceled, newPublish(site.ID, 1), scheduled(foreign.ID, later(1)))
	for name, c := range map[string]struct {
		only []cms.ID
		q    cms.ListQuery
		want []cms.Publish
	}{
		"all":       {nil, cms.ListQuery{Limit: 2}, list},
		"after one": {nil, cms.ListQuery{After: list[0].ID, Limit: 2}, list[1:]},
		"one more":  {nil, cms.ListQuery{Limit: 1}, list[:2]},
		"of a site": {[]cms.ID{second.ID, foreign.ID}, cms.ListQuery{Limit: 2}, list[1:2]},
		"of none":   {[]cms.ID{}, cms.ListQuery{Limit: 2}, nil},
	} {
		sameList(t, name, value(store.ScheduledPublishes(t.Context(), site.WorkspaceID, c.only, c.q))(t), c.want)
	}
	deleteSite(t, store, second, at)
	left := value(store.ScheduledPublishes(t.Context(), site.WorkspaceID, nil, cms.ListQuery{Limit: 5}))(t)
	sameList(t, "without a deleted site", left, []cms.Publish{list[0], list[2]})
}

func publishList(t *testing.T, store cms.Store) {
	site, other := aSite(t, store), aSite(t, store)
	list := []cms.Publish{scheduled(site.ID, later(1)), scheduled(site.ID, later(1)), newPublish(site.ID, 1), newPublish(site.ID, 2)}
	createPublishes(t, store, append(list, newPublish(other.ID, 1))...)
	slices.Reverse(list) // newest first, ties by id
	got := value(store.Publishes(t.Context(), site.ID, cms.NoID, cms.ListQuery{Limit: 10}))(t)
	same(t, "Publishes", got, list)
	for i, p := range list {
		rest := value(store.Publishes(t.Context(), site.ID, cms.NoID, cms.ListQuery{After: p.ID, Limit: 1}))(t)
		sameList(t, "after one", ids(rest, publishID), ids(list[i+1:min(i+3, len(list))], publishID))
	}
}

func publishDue(t *testing.T, store cms.Store) {
	site := aSite(t, store)
	done := scheduled(site.ID, later(1))
	done.Status = cms.StatusCanceled
	second, first, notYet := scheduled(site.ID, later(3)), scheduled(site.ID, later(2)), scheduled(site.ID, later(9))
	createPublishes(t, store, done, second, first, notYet)
	take := func(now time.Time, notOf ...cms.ID) (taken cms.Publish, err error) {
		err = store.InTx(t.Context(), func(tx cms.Tx) error {
			if taken, err = tx.TakeDuePublish(t.Context(), now, notOf); err != nil {
				return err
			}
			after := taken
			after.Status = cms.StatusPublished
			return tx.UpdatePublish(t.Context(), after)
		})
		return taken, err
	}
	_, err := take(later(1))
	wantNotFound(t, "before its time", cms.KindPublish, err)
	other := scheduled(aSite(t, store).ID, later(3))
	createPublishes(t, store, other)
	same(t, "of another site", value(take(later(3), cms.NewID(), site.ID))(t), other)
	_, err = take(later(3), site.ID)
	wantNotFound(t, "of no other site", cms.KindPublish, err)
	same(t, "the first", value(take(later(3)))(t), first)
	same(t, "at its time", value(take(later(3)))(t), second)
	_, err = take(later(8))
	wantNotFound(t, "nothing left", cms.KindPublish, err)
}

// publishDueTwice holds one transaction open while another looks: whether that
// waits or passes over, it never gets the same publish, nor a later one of the
// same site before the first is done.
func publishDueTwice(t *testing.T, store cms.Store) {
	site := aSite(t, store)
	first, second, other := scheduled(site.ID, later(1)), scheduled(site.ID, later(2)), scheduled(aSite(t, store).ID, later(3))
	createPublishes(t, store, first, second, other)
	take := func(hold func()) (taken cms.ID, err error) {
		err = store.InTx(t.Context(), func(tx cms.Tx) error {
			p, err := tx.TakeDuePublish(t.Context(), later(5), nil)
			if err != nil {
				return err
			}
			taken = p.ID
			hold()
			p.Status = cms.StatusPublished
			return tx.UpdatePublish(t.Context(), p)
		})
		return taken, err
	}
	held, looked := make(chan struct{}), make(chan struct{})
	var released atomic.Bool
	var holder sync.WaitGroup
	var opened sync.Once
	holder.Go(func() {
		got, err := take(func() {
			opened.Do(func() { close(held) })
			select {
			case <-looked:
			case <-time.After(300 * time.Millisecond): // the other waits for this one
			}
			released.Store(true)
		})
		if err != nil || got != first.ID {
			t.Errorf("the first took %s, %v, want %s", got, err, first.ID)
		}
	})
	<-held
	got, err := take(func() {
		if !released.Load() {
			close(looked)
		}
	})
	if err != nil {
		t.Error(err)
	}
	select {
	case <-looked:
		same(t, "meanwhile", got, other.ID)
	default:
		if got != second.ID && got != other.ID {
			t.Errorf("the second took %s, want %s or %s", got, second.ID, other.ID)
		}
	}
	holder.Wait()
	rest := []cms.ID{second.ID, other.ID}
	if got == second.ID {
		rest = rest[1:]
	} else {
		rest = rest[:1]
	}
	last, err := take(func() {})
	if err != nil {
		t.Error(err)
	}
	same(t, "afterwards", []cms.ID{last}, rest)
}

// publishDueRace lets many take what is due, each of which has to go to one, and
// those of one site in the order of their times.
func publishDueRace(t *testing.T, store cms.Store) {
	const sites, each = 3, 10
	for range sites {
		site := aSite(t, store)
		for i := range each {
			createPublishes(t, store, scheduled(site.ID, later(i)))
		}
	}
	var mu sync.Mutex
	taken := map[cms.ID][]cms.Publish{} // by site
	count := 0
	var nodes sync.WaitGroup
	for range 4 {
		nodes.Go(func() {
			for t.Context().Err() == nil {
				var p cms.Publish
				err := store.InTx(t.Context(), func(tx cms.Tx) (err error) {
					if p, err = tx.TakeDuePublish(t.Context(), later(each), nil); err != nil {
						return err
					}
					mu.Lock() // before it is done, when others may go on
					taken[p.SiteID] = append(taken[p.SiteID], p)
					mu.Unlock()
					p.Status = cms.StatusPublished
					return tx.UpdatePublish(t.Context(), p)
				})
				if err != nil && cms.CodeOf(err) != cms.CodeNotFound {
					t.Error(err)
					return
				}
				mu.Lock()
				if err == nil {
					count++
				}
				all := count == sites*each // until then, what is left may be locked
				mu.Unlock()
				if all {
					return
				}
			}
		})
	}
	nodes.Wait()
	for site, publishes := range taken {
		if len(publishes) != each {
			t.Errorf("%d of %d publishes of site %s were taken", len(publishes), each, site)
		}
		for i, p := range publishes {
			if !p.PublishAt.Equal(later(i)) {
				t.Errorf("publish %d of site %s is that of %s, want %s", i, site, p.PublishAt, later(i))
			}
		}
	}
}
