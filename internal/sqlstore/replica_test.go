package sqlstore

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"galley/internal/cms"
	"galley/internal/pgtest"
)

func standbyForTest(t *testing.T) (s *Store, r *Replica, standby *pgtest.Standby, url string) {
	t.Helper()
	primary := pgtest.URL(t)
	s, err := OpenPostgres(primary, nil)
	readyForTest(t, s, err)
	standby = pgtest.NewStandby(t)
	url = standby.URL(primary)
	if r, err = s.OpenReplica(url); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return s, r, standby, url
}

// catchUp marks the store and waits until the standby has the mark.
func catchUp(t *testing.T, r *Replica) {
	t.Helper()
	if err := r.Mark(t.Context()); err != nil {
		t.Fatal(err)
	}
	awaitMark(t, r)
}

func awaitMark(t *testing.T, r *Replica) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(5 * time.Millisecond) {
		has, err := r.Marked(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if has {
			return
		}
		if time.Now().After(end) {
			t.Fatal("the standby never has the mark")
		}
	}
}

// TestReplicaMarks checks what a mark promises: everything from before it is
// there.
func TestReplicaMarks(t *testing.T) {
	s, r, _, _ := standbyForTest(t)
	for range 20 {
		w := cms.Workspace{ID: cms.NewID(), Name: "One", CreatedAt: time.Now().UTC()}
		if err := s.InTx(t.Context(), func(tx cms.Tx) error { return tx.CreateWorkspace(t.Context(), w) }); err != nil {
			t.Fatal(err)
		}
		catchUp(t, r)
		if _, err := r.Workspace(t.Context(), w.ID); err != nil {
			t.Errorf("a single look: %v", err)
		}
		if err := r.View(t.Context(), func(view cms.Reader) error {
			_, err := view.Workspace(t.Context(), w.ID)
			return err
		}); err != nil {
			t.Errorf("a view: %v", err)
		}
	}
}

// TestReplicaMarksWhenTheClockIsSetBack has an old mark that is later than the
// time is now.
func TestReplicaMarksWhenTheClockIsSetBack(t *testing.T) {
	s, r, standby, _ := standbyForTest(t)
	catchUp(t, r)
	if err := s.queries.run(t.Context(), `update replica_mark set marked_at = ?`, time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	catchUp(t, r)
	standby.Ask(t, "select pg_wal_replay_pause()::text")
	if err := r.Mark(t.Context()); err != nil {
		t.Fatal(err)
	}
	if has, err := r.Marked(t.Context()); has || err != nil {
		t.Errorf("the standby stands still and has a new mark: %v, %v", has, err)
	}
}

// TestReplicaMarksLeaveIndexesAlone counts the updates that change no index.
func TestReplicaMarksLeaveIndexesAlone(t *testing.T) {
	s, r := markedForTest(t)
	const updates = 20
	for range 1 + updates {
		if err := r.Mark(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.db.ExecContext(t.Context(), `select pg_stat_force_next_flush()`); err != nil {
		t.Fatal(err)
	}
	var all, hot int
	row := s.db.QueryRowContext(t.Context(), `select n_tup_upd, n_tup_hot_upd from pg_stat_user_tables where relname = 'replica_mark'`)
	if err := row.Scan(&all, &hot); err != nil || all != updates || hot != updates {
		t.Errorf("of %d updates, %d of %d left the indexes alone: %v", updates, hot, all, err)
	}
}

// TestReplicaMarksOfNodesThatAreGone deletes old marks of others, and not the
// node's own, however old the last one is.
func TestReplicaMarksOfNodesThatAreGone(t *testing.T) {
	s, r := markedForTest(t)
	_, other := markedForTest(t)
	other.store = s
	do(t, r.Mark(t.Context()))
	do(t, other.Mark(t.Context()))
	do(t, s.queries.run(t.Context(), `update replica_mark set marked_at = ?`, time.Now().Add(-maxMarkAge-time.Hour)))
	r.renewed = time.Now().Add(-2 * cleanMarked)
	do(t, r.Mark(t.Context()))
	nodes, err := values[cms.ID](t.Context(), s.queries, `select node from replica_mark`)
	if err != nil || !slices.Equal(nodes, []cms.ID{r.node}) {
		t.Errorf("the marks of %v are left (%v), want that of %s", nodes, err, r.node)
	}
}

// markedForTest has a store and its marks; what would have them is out of reach.
func markedForTest(t *testing.T) (*Store, *Replica) {
	t.Helper()
	s := postgresForTest(t)
	r, err := s.OpenReplica("postgres://galley@/galley?host=" + t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return s, r
}

// TestReplicaThatWentBack has a server come back that is not as far as a look
// has seen it.
func TestReplicaThatWentBack(t *testing.T) {
	_, r, standby, _ := standbyForTest(t)
	catchUp(t, r)
	if _, err := r.Workspaces(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.has.Add(1)
	if _, err := r.Workspaces(t.Context()); err != nil {
		t.Errorf("a connection that was there before: %v", err)
	}
	standby.Stop(t)
	standby.Start(t)
	for range 10 { // the first meets a connection that is dead
		if _, err := r.Workspaces(t.Context()); err == nil {
			t.Error("a server that lacks what was seen answers a read")
		}
	}
	_, _ = r.Marked(t.Context()) // looks have a connection that is dead, too
	catchUp(t, r)                // and get through
	if _, err := r.Workspaces(t.Context()); err != nil {
		t.Errorf("it has caught up: %v", err)
	}
}

func TestReplicaThatIsNone(t *testing.T) {
	url := pgtest.URL(t)
	s, err := OpenPostgres(url, nil)
	readyForTest(t, s, err)
	r, err := s.OpenReplica(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	if _, err := r.Marked(t.Context()); !errors.Is(err, cms.ErrNoReplica) {
		t.Errorf("the primary itself: %v", err)
	}
	if f := s.ExamineReplica(t.Context(), url); f.Level != LevelFail {
		t.Errorf("the doctor says %v", f)
	}
}

func TestReplicaURLThatCanNotBeUsed(t *testing.T) {
	s := postgresForTest(t)
	for _, url := range []string{"postgres://u:s3cret@host:port/db", "postgres://u:s3cret@one,two/db", "postgres://u:s3cret@one:5432,one:5433/db"} {
		if _, err := s.OpenReplica(url); err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: got %v", url, err)
		}
	}
	if _, err := sqliteForTest(t).OpenReplica("postgres://host/db"); err == nil {
		t.Error("SQLite has a replica")
	}
}

func TestExamineReplica(t *testing.T) {
	s, r, standby, url := standbyForTest(t)
	catchUp(t, r)
	f := s.ExamineReplica(t.Context(), url)
	for try := 1; try < 5 && f.Level != LevelOK; try++ { // a busy machine may not answer in time
		f = s.ExamineReplica(t.Context(), url)
	}
	if f.Level != LevelOK || f.Todo != "" {
		t.Errorf("one that follows: %v", f)
	}
	standby.Stop(t)
	if f := s.ExamineReplica(t.Context(), url); f.Level != LevelWarn || f.Todo == "" {
		t.Errorf("one that is away: %v", f)
	}
	if f := judgeReplica(true, maxReplicaBehind+1); f.Level != LevelWarn || f.Todo == "" {
		t.Errorf("one that is far behind: %v", f)
	}
}
