package storetest

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"galley/internal/cms"
)

func keptAnswers(t *testing.T, store cms.Store) {
	credential := cms.NewID()
	k := cms.KeptAnswer{
		Credential: credential, Key: "k", Request: cms.KeyHash{1, 2}, Status: 201, Location: "/x", Body: []byte("{\x00}"), Sealed: true, At: at,
		Needs: cms.Needs{Site: new(cms.NoID), App: new(cms.NewID())},
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
