package sqlstore

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"galley/internal/cms"
)

// sitesForTest makes sites of one workspace.
func sitesForTest(t *testing.T, s *Store, n int) []cms.Site {
	t.Helper()
	sites := make([]cms.Site, n)
	do(t, s.InTx(t.Context(), func(tx cms.Tx) error {
		workspace := cms.Workspace{ID: cms.NewID(), Name: "w", CreatedAt: time.Now()}
		err := tx.CreateWorkspace(t.Context(), workspace)
		for i := range sites {
			site := cms.Site{
				ID: cms.NewID(), WorkspaceID: workspace.ID, Name: "s", PublicAPIKey: cms.NewSiteKey(),
				KeyAccess: cms.AccessDraft, LocaleMode: cms.LocalesInternal, CreatedAt: time.Now(), UpdatedAt: time.Now(),
			}
			site.DefaultLocale = cms.Locale{ID: cms.NewID(), SiteID: site.ID, Code: "en", CreatedAt: time.Now()}
			site.DefaultLocaleID = site.DefaultLocale.ID
			sites[i] = site
			err = errors.Join(err, tx.CreateSite(t.Context(), site), tx.CreateLocale(t.Context(), site.DefaultLocale))
		}
		return err
	}))
	return sites
}

// Every way to lock a site.
var siteLocks = map[string]func(ctx context.Context, tx cms.Tx, site cms.Site, lock cms.Lock) error{
	"LockSite": func(ctx context.Context, tx cms.Tx, site cms.Site, lock cms.Lock) error {
		_, err := tx.LockSite(ctx, site.ID, lock)
		return err
	},
	"LockShape": func(ctx context.Context, tx cms.Tx, site cms.Site, lock cms.Lock) error {
		_, err := tx.LockShape(ctx, site.WorkspaceID, site.ID, lock)
		return err
	},
	"LockShapeOf": func(ctx context.Context, tx cms.Tx, site cms.Site, lock cms.Lock) error {
		_, _, err := tx.LockShapeOf(ctx, site.WorkspaceID, cms.KindLocale, site.DefaultLocaleID, lock)
		return err
	},
}

// A crowd that waits for one site has the connections of nobody else.
func TestWritersOfALockedSiteKeepNobodyOut(t *testing.T) {
	s := postgresForTest(t)
	for name, lockSite := range siteLocks {
		for _, lock := range []cms.Lock{cms.LockShared, cms.LockExclusive} {
			sites := sitesForTest(t, s, 2)
			holding, release := make(chan struct{}), make(chan struct{})
			var all sync.WaitGroup
			all.Go(func() {
				_ = s.InTx(t.Context(), func(tx cms.Tx) error {
					_, err := tx.LockSite(t.Context(), sites[0].ID, cms.LockExclusive)
					close(holding)
					<-release
					return err
				})
			})
			<-holding
			const crowd = 2 * maxPostgresConns
			answers := make([]error, crowd)
			for i := range crowd {
				all.Go(func() {
					answers[i] = s.InTx(t.Context(), func(tx cms.Tx) error { return lockSite(t.Context(), tx, sites[0], lock) })
				})
			}
			until(t, "all wait at the door", func() bool {
				s.doors.mu.Lock()
				defer s.doors.mu.Unlock()
				at := s.doors.of[sites[0].ID]
				return at != nil && at.waiting == crowd
			})
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			err := s.InTx(ctx, func(tx cms.Tx) error { return lockSite(ctx, tx, sites[1], lock) })
			cancel()
			close(release)
			all.Wait()
			if err := errors.Join(append(answers, err)...); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if n := len(s.doors.of); n != 0 {
				t.Errorf("%s: %d doors are left", name, n)
			}
		}
	}
}

// Every way to lock what writers of a site may want at the same time.
var rowLocks = map[string]func(ctx context.Context, tx cms.Tx, siteID, id cms.ID) error{
	"LockPage": func(ctx context.Context, tx cms.Tx, siteID, id cms.ID) error {
		_, err := tx.LockPage(ctx, siteID, cms.Draft, id)
		return err
	},
	"LockRoute": func(ctx context.Context, tx cms.Tx, siteID, id cms.ID) error {
		_, err := tx.LockRoute(ctx, siteID, id)
		return err
	},
}

// Nor has one that waits for a page.
func TestWritersOfALockedPageKeepNobodyOut(t *testing.T) {
	s := postgresForTest(t)
	for name, lockRow := range rowLocks {
		site := sitesForTest(t, s, 1)[0]
		page, route := seedPage(site.ID, "/p"), cms.Route{ID: cms.NewID(), SiteID: site.ID, Pathname: "/r", CreatedAt: time.Now()}
		do(t, s.InTx(t.Context(), func(tx cms.Tx) error {
			return errors.Join(tx.CreatePages(t.Context(), page), tx.CreateRoute(t.Context(), route))
		}))
		id := map[string]cms.ID{"LockPage": page.ID, "LockRoute": route.ID}[name]
		holding, release := make(chan struct{}), make(chan struct{})
		var all sync.WaitGroup
		all.Go(func() {
			_ = s.InTx(t.Context(), func(tx cms.Tx) error {
				err := lockRow(t.Context(), tx, site.ID, id)
				close(holding)
				<-release
				return err
			})
		})
		<-holding
		const crowd = 4 * maxPostgresConns
		answers := make([]error, crowd)
		var inside, most atomic.Int64
		for i := range crowd {
			all.Go(func() {
				answers[i] = s.InTx(t.Context(), func(tx cms.Tx) error {
					if _, err := tx.LockShape(t.Context(), site.WorkspaceID, site.ID, cms.LockShared); err != nil {
						return err
					}
					if err := lockRow(t.Context(), tx, site.ID, id); err != nil {
						return err
					}
					most.Store(max(most.Load(), inside.Add(1)))
					inside.Add(-1)
					return nil
				})
			})
		}
		until(t, "all wait at the door", func() bool {
			s.doors.mu.Lock()
			defer s.doors.mu.Unlock()
			at := s.doors.of[id]
			return at != nil && at.waiting == crowd
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		err := s.InTx(ctx, func(tx cms.Tx) error {
			_, err := tx.LockSite(ctx, site.ID, cms.LockShared)
			return err
		})
		cancel()
		close(release)
		all.Wait()
		if err := errors.Join(append(answers, err)...); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if most.Load() != 1 || len(s.doors.of) != 0 {
			t.Errorf("%s: %d had the lock at a time, %d doors are left", name, most.Load(), len(s.doors.of))
		}
	}
}

// A stream of writers that share a site lets one through who wants it alone.
func TestSharedLocksDoNotKeepAnExclusiveOneOut(t *testing.T) {
	s := postgresForTest(t)
	for name, lockSite := range siteLocks {
		site := sitesForTest(t, s, 1)[0]
		ctx, stop := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				time.Sleep(time.Duration(i) * 5 * time.Millisecond) // so that there is always one
				for ctx.Err() == nil {
					err := s.InTx(t.Context(), func(tx cms.Tx) error {
						defer time.Sleep(40 * time.Millisecond)
						return lockSite(t.Context(), tx, site, cms.LockShared)
					})
					if err != nil {
						t.Errorf("%s: %v", name, err)
					}
				}
			})
		}
		time.Sleep(100 * time.Millisecond)
		alone, cancel := context.WithTimeout(t.Context(), time.Minute)
		err := s.InTx(alone, func(tx cms.Tx) error { return lockSite(alone, tx, site, cms.LockExclusive) })
		cancel()
		stop()
		all.Wait()
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Who gives up waiting leaves the door to others.
func TestWhoLeavesTheDoorHoldsNobodyUp(t *testing.T) {
	d := &doors{of: map[cms.ID]*door{}}
	site := cms.NewID()
	leave, err := d.enter(t.Context(), site, cms.LockShared, maxAtDoor)
	do(t, err)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.enter(gone, site, cms.LockExclusive, maxAtDoor); cms.CodeOf(err) != cms.CodeUnavailable {
		t.Errorf("who left was told %v", err)
	}
	leave()
	leave() // once is enough
	if len(d.of) != 0 {
		t.Error("a door is left at which nobody waits")
	}
}

func TestWhoMakesWayAtTheDoor(t *testing.T) {
	const shared, alone = cms.LockShared, cms.LockExclusive
	for _, c := range []struct{ waits, comes cms.Lock }{{shared, shared}, {shared, alone}, {alone, shared}, {alone, alone}} {
		d := &doors{of: map[cms.ID]*door{}}
		site := cms.NewID()
		leave, err := d.enter(t.Context(), site, c.waits, maxAtDoor)
		do(t, err)
		if want := c.waits == alone || c.comes == alone; d.taken(site, c.comes) != want || d.taken(cms.NewID(), c.comes) {
			t.Errorf("%v comes while %v waits: makes way %v, want %v", c.comes, c.waits, !want, want)
		}
		leave()
		if d.taken(site, c.comes) {
			t.Errorf("%v comes when nobody waits, and makes way", c.comes)
		}
	}
}

// A site for which too many wait turns others away: each has a worker of the
// server, and so does everybody else who wants something.
func TestCrowdAtADoorIsBounded(t *testing.T) {
	d := &doors{of: map[cms.ID]*door{}}
	ctx, cancel := context.WithCancel(t.Context())
	site := cms.NewID()
	leave, err := d.enter(ctx, site, cms.LockExclusive, maxAtDoor)
	do(t, err)
	var waiting sync.WaitGroup
	for range maxAtDoor - 1 {
		waiting.Go(func() { _, _ = d.enter(ctx, site, cms.LockShared, maxAtDoor) })
	}
	for full := false; !full; time.Sleep(time.Millisecond) {
		d.mu.Lock()
		full = d.of[site].waiting == maxAtDoor
		d.mu.Unlock()
	}
	if _, err := d.enter(ctx, site, cms.LockShared, maxAtDoor); cms.CodeOf(err) != cms.CodeUnavailable || !errors.Is(err, errCrowded) {
		t.Errorf("one more is told %v", err)
	}
	other, err := d.enter(ctx, cms.NewID(), cms.LockShared, maxAtDoor)
	do(t, err)
	other()
	cancel()
	waiting.Wait()
	leave()
	if len(d.of) != 0 {
		t.Errorf("%d doors are left", len(d.of))
	}
}

// Who writes to a page that all write to, in a site that others want to
// themselves, goes from one door to the other, and is not refused for that.
func TestWritersBetweenTwoDoorsAreNotRefused(t *testing.T) {
	s := postgresForTest(t)
	site := sitesForTest(t, s, 1)[0]
	page := seedPage(site.ID, "/p")
	do(t, s.InTx(t.Context(), func(tx cms.Tx) error { return tx.CreatePages(t.Context(), page) }))
	var done atomic.Bool
	var writers, others sync.WaitGroup
	for range 40 {
		writers.Go(func() {
			for range 10 {
				err := s.InTx(t.Context(), func(tx cms.Tx) error {
					if _, err := tx.LockShape(t.Context(), site.WorkspaceID, site.ID, cms.LockShared); err != nil {
						return err
					}
					_, err := tx.LockPage(t.Context(), site.ID, cms.Draft, page.ID)
					time.Sleep(3 * time.Millisecond)
					return err
				})
				if err != nil {
					t.Errorf("a writer of the page: %v", err)
					return
				}
			}
		})
	}
	for range 3 {
		others.Go(func() {
			for !done.Load() {
				err := s.InTx(t.Context(), func(tx cms.Tx) error {
					_, err := tx.LockSite(t.Context(), site.ID, cms.LockExclusive)
					time.Sleep(10 * time.Millisecond)
					return err
				})
				if err != nil {
					t.Errorf("who wants the site alone: %v", err)
					return
				}
				time.Sleep(10 * time.Millisecond)
			}
		})
	}
	writers.Wait()
	done.Store(true)
	others.Wait()
}
