package sqlstore

import (
	"bytes"
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"galley/internal/cms"
	"galley/internal/pgtest"
)

// countedTrips is a store that counts how often its transactions wait for the
// server.
func countedTrips(t *testing.T) (*Store, *atomic.Int64) {
	t.Helper()
	url := pgtest.URL(t)
	s, err := OpenPostgres(url, nil)
	readyForTest(t, s, err)
	config, err := parsePostgres(url)
	do(t, err)
	trips, dial := &atomic.Int64{}, config.ConnConfig.DialFunc
	config.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		return &countingConn{Conn: c, trips: trips}, err
	}
	counted, err := newPostgres(config, maxPostgresConns)
	do(t, err)
	t.Cleanup(func() { do(t, counted.close()) })
	s.engine = counted
	return s, trips
}

// countingConn counts the times that something is said after something was heard.
type countingConn struct {
	net.Conn
	trips *atomic.Int64
	spoke bool
}

func (c *countingConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.spoke = c.spoke && n == 0
	return n, err
}

func (c *countingConn) Write(b []byte) (int, error) {
	if !c.spoke && !bytes.Contains(b, []byte("-- ping")) { // of the pool, after a while
		c.trips.Add(1)
	}
	c.spoke = true
	return c.Conn.Write(b)
}

// A way to the server and back takes longer than most statements do.
func TestWritesTakeFewTrips(t *testing.T) {
	s, trips := countedTrips(t)
	ctx, site := t.Context(), sitesForTest(t, s, 1)[0]
	now := time.UnixMicro(time.Now().UnixMicro()).UTC()
	audit := func(id cms.ID) cms.AuditEntry {
		return cms.AuditEntry{ID: cms.NewID(), WorkspaceID: site.WorkspaceID, SiteID: site.ID, ResourceID: id, Kind: cms.KindPage}
	}
	var page cms.Page
	for _, c := range []struct {
		name  string
		want  int64
		write func(tx cms.Tx) error
	}{
		{"nothing", 0, func(cms.Tx) error { return nil }},
		{"a new page", 3, func(tx cms.Tx) error {
			_, err := tx.LockRevision(ctx, site.WorkspaceID, site.ID, cms.LockShared)
			do(t, err)
			page = cms.Page{ID: cms.NewID(), SiteID: site.ID, Values: cms.Values{Pathname: "/" + cms.NewID().String()}, CreatedAt: now, UpdatedAt: now}
			do(t, tx.TakeFreePathname(ctx, site.ID, cms.Claim{Pathname: page.Pathname, Owner: page.ID}))
			do(t, tx.CreatePages(ctx, page))
			return tx.Record(ctx, audit(page.ID))
		}},
		{"a changed page", 3, func(tx cms.Tx) error {
			_, err := tx.LockRevision(ctx, site.WorkspaceID, site.ID, cms.LockShared)
			do(t, err)
			before, err := tx.LockPage(ctx, site.ID, cms.Draft, page.ID)
			do(t, err)
			after := before
			after.Title = new(cms.NewID().String())
			do(t, tx.UpdatePage(ctx, before, after))
			return tx.Record(ctx, audit(page.ID))
		}},
		{"something without a look", 1, func(tx cms.Tx) error {
			return tx.CreateWorkspace(ctx, cms.Workspace{ID: cms.NewID(), Name: "w", CreatedAt: now})
		}},
	} {
		do(t, s.InTx(ctx, c.write)) // which prepares the statements
		before := trips.Load()
		do(t, s.InTx(ctx, c.write))
		if took := trips.Load() - before; took != c.want {
			t.Errorf("%s took %d trips, want %d", c.name, took, c.want)
		}
	}
	found, err := s.Page(ctx, site.ID, cms.Draft, page.ID)
	if do(t, err); found.Title == nil {
		t.Errorf("the page has not changed: %+v", found)
	}
}

// What a queued statement does wrong shows later, and nothing is kept.
func TestAQueuedStatementThatFails(t *testing.T) {
	s := postgresForTest(t)
	ctx := t.Context()
	there := cms.Workspace{ID: cms.NewID(), Name: "there", CreatedAt: time.Now()}
	do(t, s.InTx(ctx, func(tx cms.Tx) error { return tx.CreateWorkspace(ctx, there) }))
	for name, c := range map[string]struct {
		then func(cms.Tx) error
		want cms.Code
	}{
		"at the end":           {func(cms.Tx) error { return nil }, cms.CodeConflict},
		"at the next read":     {func(tx cms.Tx) error { _, err := tx.Workspace(ctx, there.ID); return err }, cms.CodeConflict},
		"at a read, forgotten": {func(tx cms.Tx) error { _, _ = tx.Workspace(ctx, there.ID); return nil }, cms.CodeConflict},
		"when there are many": {func(tx cms.Tx) (err error) {
			for range maxQueued {
				if err = tx.CreateWorkspace(ctx, cms.Workspace{ID: cms.NewID(), Name: "more", CreatedAt: time.Now()}); err != nil {
					return err
				}
			}
			t.Error("nothing was said of it")
			return nil
		}, cms.CodeConflict},
	} {
		other := cms.Workspace{ID: cms.NewID(), Name: "other", CreatedAt: time.Now()}
		err := s.InTx(ctx, func(tx cms.Tx) error {
			do(t, tx.CreateWorkspace(ctx, other))
			do(t, tx.CreateWorkspace(ctx, there)) // queued
			return c.then(tx)
		})
		if err == nil || cms.CodeOf(err) != c.want {
			t.Errorf("%s: got %v", name, err)
		}
		if _, err := s.Workspace(ctx, other.ID); cms.CodeOf(err) != cms.CodeNotFound {
			t.Errorf("%s: something was kept: %v", name, err)
		}
	}
	if used := s.engine.pools()["main"]().InUse; used != 0 {
		t.Errorf("%d connections are in use", used)
	}
}

// What comes after a statement that never got to the server is not done either:
// it would be outside of the transaction, which was to begin with that.
func TestAReadThatIsNotSentIsTheEnd(t *testing.T) {
	s := postgresForTest(t)
	left, leave := context.WithCancel(t.Context())
	leave()
	for name, read := range map[string]func(q queries) error{
		"of nothing":            func(q queries) error { _, err := values[cms.ID](t.Context(), q, `select id from nothing`); return err },
		"for somebody who left": func(q queries) error { _, err := q.Workspace(left, cms.NewID()); return err },
	} {
		first, second := cms.Workspace{ID: cms.NewID(), Name: "1", CreatedAt: time.Now()}, cms.Workspace{ID: cms.NewID(), Name: "2", CreatedAt: time.Now()}
		err := s.InTx(t.Context(), func(tx cms.Tx) error {
			do(t, tx.CreateWorkspace(t.Context(), first))
			q, _ := tx.(queries)
			if err := read(q); err == nil {
				t.Errorf("a read %s succeeds", name)
			}
			_ = tx.CreateWorkspace(t.Context(), second)
			return nil
		})
		if err == nil {
			t.Errorf("a read %s is forgotten", name)
		}
		for _, w := range []cms.Workspace{first, second} {
			if _, err := s.Workspace(t.Context(), w.ID); cms.CodeOf(err) != cms.CodeNotFound {
				t.Errorf("a read %s: workspace %s was kept: %v", name, w.Name, err)
			}
		}
	}
	if used := s.engine.pools()["main"]().InUse; used != 0 {
		t.Errorf("%d connections are in use", used)
	}
}

// A transaction whose connection is gone takes nothing with it.
func TestATransactionThatLosesItsConnection(t *testing.T) {
	s := postgresForTest(t)
	ctx := t.Context()
	for name, then := range map[string]func(cms.Tx) error{
		"and ends":  func(cms.Tx) error { return nil },
		"and reads": func(tx cms.Tx) error { _, err := tx.Workspace(ctx, cms.NewID()); return err },
		"and fails": func(cms.Tx) error { return cms.Unavailable(context.Canceled) },
	} {
		w := cms.Workspace{ID: cms.NewID(), Name: "w", CreatedAt: time.Now()}
		err := s.InTx(ctx, func(tx cms.Tx) error {
			q, _ := tx.(queries)
			backend, err := value[int64](ctx, q, `select pg_backend_pid()`)
			do(t, err)
			do(t, tx.CreateWorkspace(ctx, w))
			// Waits until it has ended.
			_, err = s.db.ExecContext(ctx, `select pg_terminate_backend($1, 60000)`, backend)
			do(t, err)
			return then(tx)
		})
		if cms.CodeOf(err) != cms.CodeUnavailable {
			t.Errorf("%s: got %v", name, err)
		}
		do(t, s.InTx(ctx, func(tx cms.Tx) error { return tx.CreateWorkspace(ctx, w) }))
	}
	until(t, "no connection is in use", func() bool { return s.engine.pools()["main"]().InUse == 0 })
}
