package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"slices"
	"testing"
	"time"

	"galley/internal/cms"
)

// told is a watcher that remembers what it was told, in order.
type told []string

func (w *told) Changed(what ...cms.Subject) {
	if len(what) == 0 {
		*w = append(*w, "everything")
		return
	}
	*w = append(*w, "something")
}

func (w *told) Deaf(deaf bool) {
	if deaf {
		*w = append(*w, "deaf")
		return
	}
	*w = append(*w, "hears")
}

// TestEarsWaitForWhoMayBeSilent begins to listen beside a node that has just
// given its last sign of life. It is never heard of, and so never missed: what
// it committed until it would have been must count as unheard.
func TestEarsWaitForWhoMayBeSilent(t *testing.T) {
	start, another := time.Now(), cms.NewID().String()
	w := &told{}
	doubt := func() { *w = append(*w, "doubts") }
	e := ears{node: "me", watcher: w, doubt: doubt, since: start, heard: map[string]time.Time{}}
	at := func(after time.Duration, messages ...string) {
		for _, m := range messages {
			e.hear(m, start.Add(after))
		}
		e.miss(start.Add(after))
	}
	at(0, "me", "other")
	at(silence-1, "me", "other", "other "+another)
	if want := (told{"something"}); !slices.Equal(*w, want) {
		t.Errorf("too early: told %v, want %v", *w, want)
	}
	at(silence, "me")
	at(2*silence-2, "me")
	at(2*silence-1, "me")
	if want := (told{"something", "hears", "everything", "doubts"}); !slices.Equal(*w, want) {
		t.Errorf("who fell silent since is missed: told %v, want %v", *w, want)
	}
	at(3*silence, "other")
	at(3*silence+1, "me")
	if want := (told{"something", "hears", "everything", "doubts", "deaf", "hears"}); !slices.Equal(*w, want) {
		t.Errorf("its own word was away: told %v, want %v", *w, want)
	}
}

// away is a database that nobody gets through to.
type away struct{ asked chan struct{} }

func (a away) Connect(ctx context.Context) (driver.Conn, error) {
	close(a.asked)
	<-ctx.Done()
	return nil, ctx.Err()
}

func (a away) Driver() driver.Driver { return nil }

// TestWhatIsBeingSentWaits asks an announcer what waits while it can't get
// through with it: it is not known to have been heard.
func TestWhatIsBeingSentWaits(t *testing.T) {
	there := away{make(chan struct{})}
	a := &announcer{db: sql.OpenDB(there)}
	a.add([]cms.Subject{{ID: cms.NewID()}})
	ctx, cancel := context.WithCancel(t.Context())
	sent := make(chan error)
	go func() { sent <- a.send(ctx) }()
	<-there.asked
	if a.idle() {
		t.Error("nothing waits while something is being sent")
	}
	cancel()
	if err := <-sent; err == nil || a.idle() || len(a.pending) != 1 {
		t.Errorf("after %v, %d transactions wait", err, len(a.pending))
	}
}

// TestDoubtAboutEverythingIsTold has a node doubt what another left behind when
// it was gone: once every transaction of that time has ended, everything counts
// as changed, here alone.
func TestDoubtAboutEverythingIsTold(t *testing.T) {
	s := postgresForTest(t)
	w := &told{}
	a := &announcer{db: s.announcer.db, tell: func(changed []cms.Subject) { w.Changed(changed...) }}
	open, err := s.write.BeginTx(t.Context(), nil)
	do(t, err)
	if _, err := open.ExecContext(t.Context(), `select pg_current_xact_id()`); err != nil {
		t.Fatal(err)
	}
	a.doubt(nil)
	for range 3 {
		a.settle(t.Context())
	}
	if len(*w) != 0 {
		t.Errorf("told %v while a transaction of that time goes on", *w)
	}
	do(t, open.Commit())
	for range 1000 { // others use this server as well
		if a.settle(t.Context()); len(*w) > 0 {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	if want := (told{"everything"}); !slices.Equal(*w, want) || !a.idle() {
		t.Errorf("told %v, want %v", *w, want)
	}
}

// TestTransactionsAreAnnouncedWhole gathers what transactions changed into
// notifications: nobody is to hear of half a transaction.
func TestTransactionsAreAnnouncedWhole(t *testing.T) {
	subjects := func(n int) (all []cms.Subject) {
		for range n {
			all = append(all, cms.Subject{ID: cms.NewID()})
		}
		return all
	}
	site := cms.Subject{ID: cms.NewID(), Drafts: true}
	pending := [][]cms.Subject{
		append(subjects(maxNotified/2), site), append(subjects(maxNotified/2-2), site), // one of both is a double
		subjects(2), subjects(maxNotified + 5), subjects(1),
	}
	want := []int{maxNotified/2*2 - 1, 2, maxNotified, 6}
	var got []int
	for rest := pending; len(rest) > 0; {
		var changed []cms.Subject
		changed, rest = together(rest)
		got = append(got, len(changed))
		if text := (&announcer{node: cms.NewID().String()}).message(changed); len(text) >= 8000 {
			t.Errorf("%d subjects take %d bytes", len(changed), len(text))
		}
		for _, what := range changed {
			if same, ok := cms.ParseSubject(what.String()); !ok || same != what {
				t.Errorf("%v is read as %v", what, same)
			}
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("notifications are about %v subjects, want %v", got, want)
	}
	full := &announcer{}
	for range 3 * maxPending {
		full.add(pending[2])
	}
	if len(full.pending) > maxPending || !full.all || full.idle() {
		t.Errorf("%d transactions wait to be told of, and everything is to be: %t", len(full.pending), full.all)
	}
	drafts := slices.Repeat([]cms.Subject{site}, maxNotified)
	if text := (&announcer{node: cms.NewID().String()}).message(drafts); len(text) >= 8000 {
		t.Errorf("%d sites' drafts take %d bytes", len(drafts), len(text))
	}
}
