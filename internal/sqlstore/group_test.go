package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"galley/internal/cms"
)

// crowd runs transactions that all wait behind a first one, so that they share
// what they can, and returns what each was answered.
func crowd(t *testing.T, s *Store, members []func(cms.Tx) error) []error {
	t.Helper()
	holding, release := make(chan struct{}), make(chan struct{})
	var all sync.WaitGroup
	var once sync.Once // a callback may run again
	all.Go(func() {
		_ = s.InTx(t.Context(), func(cms.Tx) error { once.Do(func() { close(holding) }); <-release; return nil })
	})
	<-holding
	answers := make([]error, len(members))
	for i, member := range members {
		all.Go(func() { answers[i] = s.InTx(t.Context(), member) })
	}
	for int(s.engine.(*sqliteEngine).writer.waiting.Load()) < len(members) {
		time.Sleep(time.Millisecond)
	}
	close(release)
	all.Wait()
	return answers
}

func groupStore(t *testing.T) *Store {
	t.Helper()
	s, err := OpenSQLite(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if _, err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

func makesWorkspace(ctx context.Context, name string) func(cms.Tx) error {
	return func(tx cms.Tx) error {
		return tx.CreateWorkspace(ctx, cms.Workspace{ID: cms.NewID(), Name: name, CreatedAt: time.Now()})
	}
}

func workspaceNames(t *testing.T, s *Store) []string {
	t.Helper()
	list, err := s.Workspaces(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, w := range list {
		names = append(names, w.Name)
	}
	slices.Sort(names)
	return names
}

func TestWaitingWritersShareACommit(t *testing.T) {
	s := groupStore(t)
	commits := 0
	writer := s.engine.(*sqliteEngine).writer
	begin := writer.begin
	writer.begin = func(ctx context.Context) (*sessionTx, error) { commits++; return begin(ctx) }
	var members []func(cms.Tx) error
	var want []string
	for i := range 40 {
		name := fmt.Sprintf("w%02d", i)
		want = append(want, name)
		members = append(members, makesWorkspace(t.Context(), name))
	}
	for i, err := range crowd(t, s, members) {
		if err != nil {
			t.Errorf("member %d: %v", i, err)
		}
	}
	if got := workspaceNames(t, s); !slices.Equal(got, want) {
		t.Errorf("stored are %v, want %v", got, want)
	}
	if commits >= len(members) {
		t.Errorf("%d writers that waited took %d transactions", len(members), commits)
	}
}

// Who waits for the writer is left the commit of those before, and may give up
// just then.
func TestAWriterIsAnsweredAlthoughTheNextOneGaveUp(t *testing.T) {
	s := groupStore(t)
	for range 300 {
		impatient, giveUp := context.WithCancel(t.Context())
		var next sync.WaitGroup
		done := make(chan error, 1)
		go func() {
			done <- s.InTx(t.Context(), func(tx cms.Tx) error {
				err := makesWorkspace(t.Context(), "w")(tx)
				next.Go(func() { _ = s.InTx(impatient, func(cms.Tx) error { return nil }) }) // in time or not
				for s.engine.(*sqliteEngine).writer.waiting.Load() == 0 {
					time.Sleep(10 * time.Microsecond)
				}
				giveUp()
				return err
			})
		}()
		select {
		case err := <-done:
			if err != nil {
				t.Fatal(err)
			}
		case <-time.After(2 * time.Minute):
			t.Fatal("the write is committed by nobody")
		}
		next.Wait()
		giveUp()
	}
}

func TestAMemberThatFailsTakesNothingOfOthersWithIt(t *testing.T) {
	s := groupStore(t)
	refused := errors.New("refused")
	members := []func(cms.Tx) error{
		makesWorkspace(t.Context(), "before"),
		func(tx cms.Tx) error {
			if err := makesWorkspace(t.Context(), "refused")(tx); err != nil {
				return err
			}
			return refused
		},
		func(cms.Tx) error { return refused },
		makesWorkspace(t.Context(), "after"),
	}
	for i, err := range crowd(t, s, members) {
		if fails := i == 1 || i == 2; fails != errors.Is(err, refused) {
			t.Errorf("member %d is answered %v", i, err)
		}
	}
	if got, want := workspaceNames(t, s), []string{"after", "before"}; !slices.Equal(got, want) {
		t.Errorf("stored are %v, want %v", got, want)
	}
}

func TestAMemberThatPanicsTakesNothingOfOthersWithIt(t *testing.T) {
	s := groupStore(t)
	panicked := make(chan any, 1)
	members := []func(cms.Tx) error{makesWorkspace(t.Context(), "one"), makesWorkspace(t.Context(), "two")}
	go func() {
		defer func() { panicked <- recover() }()
		_ = s.InTx(context.Background(), func(tx cms.Tx) error {
			_ = makesWorkspace(context.Background(), "lost")(tx)
			panic("at the disco")
		})
	}()
	for i, err := range crowd(t, s, members) {
		if err != nil {
			t.Errorf("member %d: %v", i, err)
		}
	}
	if cause := <-panicked; cause != "at the disco" {
		t.Errorf("the panic ended as %v", cause)
	}
	if got, want := workspaceNames(t, s), []string{"one", "two"}; !slices.Equal(got, want) {
		t.Errorf("stored are %v, want %v", got, want)
	}
}

// SQLite ends a transaction by itself after some errors, of reads as well. What
// others have done in it, or would do after it, is done again.
func TestAReadThatEndedTheTransactionTakesNothingOfOthersWithIt(t *testing.T) {
	s := groupStore(t)
	broken := cms.Unavailable(errors.New("disk I/O error"))
	var members []func(cms.Tx) error
	var want []string
	for i := range 9 {
		if i%3 == 1 {
			members = append(members, func(tx cms.Tx) error {
				q, _ := tx.(queries)
				return errors.Join(broken, q.conn.query(t.Context(), `rollback`, nil, func(row) error { return nil }))
			})
			continue
		}
		want = append(want, fmt.Sprint(i))
		members = append(members, makesWorkspace(t.Context(), fmt.Sprint(i)))
	}
	for i, err := range crowd(t, s, members) {
		if i%3 == 1 && !errors.Is(err, broken) || i%3 != 1 && err != nil {
			t.Errorf("member %d is answered %v", i, err)
		}
	}
	if got := workspaceNames(t, s); !slices.Equal(got, want) {
		t.Errorf("stored are %v, want %v", got, want)
	}
}

func TestACallerWhoLeftDoesNotHoldOthersUp(t *testing.T) {
	s := groupStore(t)
	gone, leave := context.WithCancel(t.Context())
	leave()
	members := []func(cms.Tx) error{makesWorkspace(t.Context(), "one")}
	var left error
	var all sync.WaitGroup
	all.Go(func() { left = s.InTx(gone, makesWorkspace(gone, "gone")) })
	crowd(t, s, members)
	all.Wait()
	if cms.CodeOf(left) != cms.CodeUnavailable {
		t.Errorf("who left is answered %v", left)
	}
	if got := workspaceNames(t, s); !slices.Equal(got, []string{"one"}) {
		t.Errorf("stored are %v", got)
	}
}

func TestATakenPathnameLeavesItsGroupWhole(t *testing.T) {
	s := groupStore(t)
	ctx := t.Context()
	site := seedSite(t, s)
	takes := func(tx cms.Tx) error {
		return tx.TakeFreePathname(ctx, site.ID, cms.Claim{Pathname: "/held", Owner: cms.NewID()})
	}
	do(t, s.InTx(ctx, takes))
	ran := make([]int, 8) // members take turns
	members := make([]func(cms.Tx) error, len(ran))
	for i := range members {
		member := takes
		if i%2 == 0 {
			member = makesWorkspace(ctx, fmt.Sprint(i))
		}
		members[i] = func(tx cms.Tx) error {
			ran[i]++
			return member(tx)
		}
	}
	for i, err := range crowd(t, s, members) {
		if i%2 == 0 && err != nil || i%2 == 1 && !errors.Is(err, cms.ErrPathnameTaken) {
			t.Errorf("member %d is answered %v", i, err)
		}
		if ran[i] != 1 {
			t.Errorf("member %d ran %d times", i, ran[i])
		}
	}
	if got, want := workspaceNames(t, s), []string{"0", "2", "4", "6"}; !slices.Equal(got, want) {
		t.Errorf("stored are %v, want %v", got, want)
	}
}

// A writer whose context ends while it waits returns at once.
func TestAWriterNeedNotWaitLongerThanItsCaller(t *testing.T) {
	s := groupStore(t)
	writer := s.engine.(*sqliteEngine).writer
	writer.lock <- struct{}{} // another one's publish
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := s.InTx(ctx, makesWorkspace(ctx, "late")); cms.CodeOf(err) != cms.CodeUnavailable {
		t.Errorf("told %v", err)
	}
	<-writer.lock
	do(t, s.InTx(t.Context(), makesWorkspace(t.Context(), "next")))
	if names := workspaceNames(t, s); !slices.Equal(names, []string{"next"}) {
		t.Errorf("there are %v", names)
	}
}
