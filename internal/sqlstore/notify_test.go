package sqlstore

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"galley/internal/cms"
	"galley/internal/pgtest"
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

// heard is what a listener received.
type heard struct {
	mu       sync.Mutex
	subjects []cms.Subject
	states   []bool
}

func (h *heard) changed(subjects ...cms.Subject) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.subjects = append(h.subjects, subjects...)
}

func (h *heard) listening(on bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.states = append(h.states, on)
}

func (h *heard) has(subject cms.Subject) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Contains(h.subjects, subject)
}

func (h *heard) is(on bool) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.states) > 0 && h.states[len(h.states)-1] == on
}

// listenForTest listens on a store until the test ends.
func listenForTest(t *testing.T, s *Store) *heard {
	t.Helper()
	h := &heard{}
	ctx, cancel := context.WithCancel(t.Context())
	var listening sync.WaitGroup
	listening.Go(func() { s.Listen(ctx, h.changed, h.listening) })
	t.Cleanup(func() { cancel(); listening.Wait() })
	until(t, "it listens", func() bool { return h.is(true) })
	return h
}

func nodeForTest(t *testing.T, url string) *Store {
	t.Helper()
	s, err := OpenPostgres(url, nil)
	return openForTest(t, s, err)
}

func TestNodesNotifyEachOther(t *testing.T) {
	url := pgtest.URL(t)
	one, two := nodeForTest(t, url), nodeForTest(t, url)
	own, other := listenForTest(t, one), listenForTest(t, two)
	many := make([]cms.Subject, 100)
	for i := range many {
		many[i] = cms.Subject{ID: cms.NewID(), Drafts: i%2 == 0}
	}
	one.Notify(many)
	one.Notify(many[:1])
	last := cms.Subject{ID: cms.NewID()}
	one.Notify([]cms.Subject{last})
	until(t, "the other node is notified", func() bool { return other.has(last) })
	for _, subject := range many {
		if !other.has(subject) {
			t.Errorf("the other node was not notified of %s", subject)
		}
	}
	if own.has(last) {
		t.Error("a node is told what it changed itself")
	}
}

func TestListenerConnectsAgain(t *testing.T) {
	url := pgtest.URL(t)
	one, two := nodeForTest(t, url), nodeForTest(t, url)
	other := listenForTest(t, two)
	listenForTest(t, one)
	do(t, one.InTx(t.Context(), func(tx cms.Tx) error {
		q, _ := tx.(queries)
		return q.run(t.Context(), `select pg_terminate_backend(pid) from pg_stat_activity where query = 'listen `+channel+`' and datname = current_database()`)
	}))
	until(t, "the lost connection is noticed, and there is another", func() bool {
		other.mu.Lock()
		defer other.mu.Unlock()
		return slices.Equal(other.states, []bool{true, false, true})
	})
	subject := cms.Subject{ID: cms.NewID()}
	until(t, "notifications arrive again", func() bool {
		one.Notify([]cms.Subject{subject}) // its own listener may not be back yet
		return other.has(subject)
	})
}

// Notifications of one transaction are not parted, and none is too long.
func TestNotificationsAreWholeAndBounded(t *testing.T) {
	n := newNotifier()
	sizes := []int{100, 40, 20, 300, 1}
	for _, size := range sizes {
		changed := make([]cms.Subject, size)
		for i := range changed {
			changed[i] = cms.Subject{ID: cms.NewID()}
		}
		n.add(changed)
	}
	var got []int
	for next := n.next(); len(next) > 0; next = n.next() {
		got = append(got, len(next))
	}
	if want := []int{140, 20, maxNotified, 1}; !slices.Equal(got, want) {
		t.Errorf("notifications of %v subjects, want %v", got, want)
	}
}

func TestSQLiteReportsOtherPrograms(t *testing.T) {
	dir := t.TempDir()
	one, err := OpenSQLite(dir, nil)
	do(t, err)
	defer func() { _ = one.Close() }()
	_, err = one.Migrate(t.Context())
	do(t, err)
	changes := make(chan struct{}, 100)
	ctx, cancel := context.WithCancel(t.Context())
	listening := make(chan bool, 10)
	var running sync.WaitGroup
	running.Go(func() {
		one.Listen(ctx, func(...cms.Subject) { changes <- struct{}{} }, func(on bool) { listening <- on })
	})
	defer running.Wait()
	defer cancel()
	if !<-listening {
		t.Fatal("it does not listen")
	}
	sitesForTest(t, one, 1)
	two, err := OpenSQLite(dir, nil)
	do(t, err)
	defer func() { _ = two.Close() }()
	for len(changes) > 0 { // opening may have written
		<-changes
	}
	sitesForTest(t, two, 1)
	<-changes
}
