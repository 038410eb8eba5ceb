package service

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"galley/internal/cms"
	"galley/internal/pgtest"
	"galley/internal/sqlstore"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }

func TestSemaphoreAdmitsSharedHoldersInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sites, id := newSemaphores(siteWriters, maxSiteUsers), cms.NewID()
		var order []string
		var mu sync.Mutex
		var waiters sync.WaitGroup
		use := func(name string, units int64) {
			waiters.Go(func() {
				release, err := sites.acquire(t.Context(), id, units)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				order = append(order, name)
				mu.Unlock()
				time.Sleep(time.Second)
				release()
			})
			synctest.Wait()
		}
		for range siteWriters {
			use("shared", 1)
		}
		if len(order) != siteWriters {
			t.Fatalf("%d shared holders at a time, want %d", len(order), siteWriters)
		}
		use("ninth", 1)
		use("exclusive", siteWriters)
		use("last", 1)
		if len(order) != siteWriters {
			t.Fatal("more than eight units are held")
		}
		if release, ok := sites.tryAcquire(cms.NewID(), siteWriters); !ok {
			t.Error("another site has to wait")
		} else {
			release()
		}
		began := time.Now()
		waiters.Wait()
		if got, want := order[siteWriters:], []string{"ninth", "exclusive", "last"}; !slices.Equal(got, want) {
			t.Errorf("the waiters ran in the order %v, want %v", got, want)
		}
		if took := time.Since(began); took != 4*time.Second {
			t.Errorf("all took %s, want 4s: the exclusive holder must exclude the others", took)
		}
		if len(sites.inUse) != 0 {
			t.Error("a semaphore without users is kept")
		}
	})
}

func TestSemaphoreBoundsItsUsers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sites, id := newSemaphores(siteWriters, maxSiteUsers), cms.NewID()
		ctx, cancel := context.WithCancel(t.Context())
		var waiters sync.WaitGroup
		for range maxSiteUsers {
			waiters.Go(func() {
				if release, err := sites.acquire(ctx, id, siteWriters); err == nil {
					<-ctx.Done()
					release()
				}
			})
		}
		synctest.Wait()
		if _, err := sites.acquire(ctx, id, 1); cms.CodeOf(err) != cms.CodeUnavailable {
			t.Errorf("one user too many got %v, want unavailable", err)
		}
		cancel() // those who wait give up
		waiters.Wait()
		if len(sites.inUse) != 0 {
			t.Error("users that gave up are counted")
		}
	})
}

func TestNewServiceRunsBigWork(t *testing.T) {
	svc, who, _ := openService(t, pgtest.URL(t))
	done, err := svc.BigWork(t.Context(), who)
	if err != nil {
		t.Fatal(err)
	}
	done()
}

// A keyed request that finds its site held rolls its transaction back, waits
// without a connection, and runs again.
func TestKeyedRequestWaitsForItsSiteWithoutAConnection(t *testing.T) {
	svc, who, store := openService(t, pgtest.URL(t))
	site := createSite(t, svc, who)
	release, err := svc.sites.acquire(t.Context(), site.ID, siteWriters)
	if err != nil {
		t.Fatal(err)
	}
	var runs atomic.Int64
	once := Once{Key: "k"}
	run := func(ctx context.Context) (Answered, error) {
		runs.Add(1)
		_, err := svc.CreatePage(ctx, who, newPage(site.ID, "/once"))
		return Answered{Status: 201, Body: []byte{}}, err
	}
	answered := make(chan error, 1)
	go func() {
		_, err := svc.Do(t.Context(), who, once, run)
		answered <- err
	}()
	eventually(t, func() bool { return svc.sites.users(site.ID) == 2 })
	if n := runs.Load(); n != 1 {
		t.Errorf("the request ran %d times before it waited, want once", n)
	}
	if n := store.Pools()["main"]().InUse; n != 0 {
		t.Errorf("the request waits with %d connections", n)
	}
	release()
	if err := <-answered; err != nil {
		t.Fatal(err)
	}
	if n := runs.Load(); n != 2 {
		t.Errorf("the request ran %d times, want twice", n)
	}
	if kept, err := svc.Do(t.Context(), who, once, run); err != nil || kept.Status != 201 || runs.Load() != 2 {
		t.Errorf("the repeated request got %v, %v after %d runs", kept, err, runs.Load())
	}
	if n := svc.sites.users(site.ID); n != 0 {
		t.Errorf("%d users are left", n)
	}
}

// A keyed request finds its site with the connection that it has: when all of
// them are in keyed requests, a second one is not free.
func TestKeyedRequestsNeedOneConnectionEach(t *testing.T) {
	svc, who, store := openService(t, pgtest.URL(t))
	site := createSite(t, svc, who)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	pool := store.Pools()["main"]
	allInUse := make(chan struct{})
	failed := make([]error, pool().Max)
	var all sync.WaitGroup
	for i := range failed {
		all.Go(func() {
			_, failed[i] = svc.Do(ctx, who, Once{Key: fmt.Sprint(i)}, func(ctx context.Context) (Answered, error) {
				select {
				case <-allInUse:
				case <-ctx.Done():
				}
				_, err := svc.CreatePage(ctx, who, newPage(site.ID, fmt.Sprintf("/%d", i)))
				return Answered{Status: 201, Body: []byte{}}, err
			})
		})
	}
	eventually(t, func() bool { return pool().InUse == pool().Max })
	waits := pool().Waits
	close(allInUse)
	all.Wait()
	// One that runs again gives its connection back first, and may find it on its way.
	if n := pool().Waits - waits; n >= int64(len(failed))/2 {
		t.Errorf("requests waited %d times for a second connection", n)
	}
	if err := errors.Join(failed...); err != nil {
		t.Error(err)
	}
}

// While one transaction holds the row lock of a site in the database, the
// writers of that site leave connections to the writers of others.
func TestWritersOfALockedSiteLeaveConnections(t *testing.T) {
	url := pgtest.URL(t)
	svc, who, store := openService(t, url)
	locked, free := createSite(t, svc, who), createSite(t, svc, who)
	db, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.ExecContext(t.Context(), `select id from site where id = $1 for update`, locked.ID.String()); err != nil {
		t.Fatal(err)
	}
	const writers = 48
	failed := make([]error, writers)
	var all sync.WaitGroup
	for i := range writers {
		all.Go(func() {
			_, failed[i] = svc.CreatePage(t.Context(), who, newPage(locked.ID, fmt.Sprintf("/%d", i)))
		})
	}
	eventually(t, func() bool { return svc.sites.users(locked.ID) == writers })
	eventually(t, func() bool { return store.Pools()["main"]().InUse >= 8 })
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if _, err := svc.CreatePage(ctx, who, newPage(free.ID, "/")); err != nil {
		t.Errorf("a writer of another site got %v", err)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	all.Wait()
	if err := errors.Join(failed...); err != nil {
		t.Error(err)
	}
}

// users is how many requests hold or wait for an id's semaphore.
func (s *semaphores) users(id cms.ID) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sem := s.inUse[id]; sem != nil {
		return sem.users
	}
	return 0
}

func openService(t *testing.T, url string) (*Service, Caller, *sqlstore.Store) {
	t.Helper()
	store, err := sqlstore.OpenPostgres(url, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	if _, err := store.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	svc := New(store, time.Now, func(any) []byte { return []byte("{}") })
	first, err := svc.FirstStart(t.Context(), Bootstrap{})
	if err != nil {
		t.Fatal(err)
	}
	return svc, Caller{App: &first.App}, store
}

func createSite(t *testing.T, svc *Service, who Caller) cms.Site {
	t.Helper()
	site, err := svc.CreateSite(t.Context(), who, Given(cms.NewSite{SitePatch: cms.SitePatch{Name: cms.Some("A site")}}))
	if err != nil {
		t.Fatal(err)
	}
	return site
}

func newPage(siteID cms.ID, pathname string) Input[cms.NewPage] {
	return Given(cms.NewPage{SiteID: cms.Some(siteID), PagePatch: cms.PagePatch{Pathname: cms.Some(&pathname)}})
}

func eventually(t *testing.T, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it did not happen within 30 seconds")
		}
	}
}
