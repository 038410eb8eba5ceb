package storetest

import (
	"fmt"
	"slices"
	"sync"
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
// waits or passes over, it never gets the same publish.
func publishDueTwice(t *testing.T, store cms.Store) {
	site := aSite(t, store)
	createPublishes(t, store, scheduled(site.ID, later(1)), scheduled(site.ID, later(2)))
	var taken [2]cms.ID
	held, second := make(chan struct{}), make(chan struct{})
	take := func(i int, hold func()) error {
		return store.InTx(t.Context(), func(tx cms.Tx) error {
			p, err := tx.TakeDuePublish(t.Context(), later(5), nil)
			if err != nil {
				return err
			}
			taken[i] = p.ID
			hold()
			p.Status = cms.StatusPublished
			return tx.UpdatePublish(t.Context(), p)
		})
	}
	var both sync.WaitGroup
	var opened sync.Once
	both.Go(func() {
		err := take(0, func() {
			opened.Do(func() { close(held) })
			select {
			case <-second:
			case <-time.After(300 * time.Millisecond): // the other waits for this one
			}
		})
		if err != nil {
			t.Error(err)
		}
	})
	<-held
	if err := take(1, func() {}); err != nil {
		t.Error(err)
	}
	close(second)
	both.Wait()
	if taken[0] == taken[1] || taken[0] == cms.NoID || taken[1] == cms.NoID {
		t.Errorf("two transactions took %v", taken)
	}
}

// publishDueRace lets many take what is due, each of which has to go to one.
func publishDueRace(t *testing.T, store cms.Store) {
	site := aSite(t, store)
	const n = 20
	for i := range n {
		createPublishes(t, store, scheduled(site.ID, later(i)))
	}
	var mu sync.Mutex
	times := map[cms.ID]int{}
	var nodes sync.WaitGroup
	for range 4 {
		nodes.Go(func() {
			for range n { // one that finds the rest locked may come too early
				var p cms.Publish
				err := store.InTx(t.Context(), func(tx cms.Tx) (err error) {
					if p, err = tx.TakeDuePublish(t.Context(), later(n), nil); err != nil {
						return err
					}
					p.Status = cms.StatusPublished
					return tx.UpdatePublish(t.Context(), p)
				})
				switch {
				case err == nil:
					mu.Lock()
					times[p.ID]++
					mu.Unlock()
				case cms.CodeOf(err) != cms.CodeNotFound:
					t.Error(err)
				}
			}
		})
	}
	nodes.Wait()
	if len(times) != n {
		t.Errorf("%d of %d were taken", len(times), n)
	}
	for id, count := range times {
		if count != 1 {
			t.Errorf("publish %s was taken %d times", id, count)
		}
	}
}

func keptAnswers(t *testing.T, store cms.Store) {
	credential := cms.NewID()
	k := cms.KeptAnswer{
		Credential: credential, Key: "k", Request: cms.KeyHash{1, 2}, Status: 201, Location: "/x", Body: []byte("{\x00}"), Sealed: true, At: at,
	}
	keep := func(k cms.KeptAnswer) {
		t.Helper()
		write(t, store, func(tx cms.Tx) error { return tx.KeepAnswer(t.Context(), k) })
	}
	find := func(key string, since time.Time) (cms.KeptAnswer, error) {
		return store.KeptAnswer(t.Context(), credential, key, since)
	}
	keep(k)
	same(t, "kept", value(find("k", later(-1)))(t), k)
	_, err := find("k", at)
	wantNotFound(t, "kept before", cms.KindAnswer, err)
	_, err = find("K", later(-1))
	wantNotFound(t, "another key", cms.KindAnswer, err)
	_, err = store.KeptAnswer(t.Context(), cms.NewID(), "k", later(-1))
	wantNotFound(t, "another credential", cms.KindAnswer, err)

	k.Status, k.Body, k.At = 200, []byte("new"), later(5)
	keep(k)
	same(t, "in place of the older one", value(find("k", later(-1)))(t), k)
	old, older := k, k
	old.Key, old.At = "old", later(4)
	older.Key, older.At = "older", later(3)
	keep(old)
	keep(older)
	forget := func(limit, want int) {
		t.Helper()
		write(t, store, func(tx cms.Tx) error {
			n, err := tx.ForgetAnswers(t.Context(), later(5), limit)
			same(t, "how many were forgotten", n, want)
			return err
		})
	}
	forget(1, 1)
	_, err = find("older", later(-1))
	wantNotFound(t, "forgotten first", cms.KindAnswer, err)
	same(t, "not forgotten yet", value(find("old", later(-1)))(t), old)
	forget(10, 1)
	_, err = find("old", later(-1))
	wantNotFound(t, "forgotten", cms.KindAnswer, err)
	forget(10, 0)
	same(t, "not forgotten", value(find("k", later(-1)))(t), k)
}

// lockedRequest counts how many are in the part that a lock keeps to one.
func lockedRequest(t *testing.T, store cms.Store) {
	credential := cms.NewID()
	var mu sync.Mutex
	inside, refused := 0, 0
	var writers sync.WaitGroup
	for range 8 {
		writers.Go(func() {
			err := store.InTx(t.Context(), func(tx cms.Tx) error {
				ok, err := tx.LockRequest(t.Context(), credential, "k")
				if err != nil {
					return err
				}
				mu.Lock()
				defer mu.Unlock()
				if !ok {
					refused++
					return nil
				}
				inside++
				if inside > 1 {
					t.Error("two transactions answer the same request")
				}
				mu.Unlock()
				time.Sleep(20 * time.Millisecond)
				mu.Lock()
				inside--
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	writers.Wait()
	write(t, store, func(tx cms.Tx) error {
		for _, key := range []string{"k", "other"} {
			if ok, err := tx.LockRequest(t.Context(), credential, key); !ok || err != nil {
				return fmt.Errorf("the lock was not given up: %w", err)
			}
		}
		return nil
	})
	t.Logf("%d refused", refused)
}
