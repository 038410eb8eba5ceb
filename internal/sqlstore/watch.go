package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"galley/internal/cms"
)

// Watch tells what others change in the store: other programs, and other users
// of this one.
func (s *Store) Watch(ctx context.Context, w cms.Watcher) {
	s.watchers.add(w)
	defer s.watchers.remove(w)
	s.watch(ctx, w)
}

// HearsWithin is how long others' changes take to be heard of. A node that sends
// nothing is missed after its silence, and noticed at the next look.
func (s *Store) HearsWithin() time.Duration {
	if s.announcer == nil {
		return 0
	}
	return 2 * silence
}

// Shared tells whether there are other nodes.
func (s *Store) Shared() bool { return s.announcer != nil && s.announcer.others.Load() }

// watchers are those who watch a store in this program.
type watchers struct {
	mu  sync.Mutex
	all []cms.Watcher
}

func (w *watchers) add(one cms.Watcher) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(w.all, one)
}

func (w *watchers) remove(one cms.Watcher) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = slices.DeleteFunc(w.all, func(o cms.Watcher) bool { return o == one })
}

func (w *watchers) tell(changed []cms.Subject) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, one := range w.all {
		one.Changed(changed...)
	}
}

// announcement is what a transaction tells others.
type announcement struct {
	by   *announcer // nil: there are no other nodes
	what []cms.Subject
}

// Announce leaves the telling to the time after the commit, unless nothing
// gets out then: the transaction itself tells in that case.
func (q queries) Announce(ctx context.Context, what []cms.Subject) error {
	q.announced.what = append(q.announced.what, what...)
	by := q.announced.by
	if by == nil || by.healthy.Load() {
		return nil
	}
	messages := []string{by.node + " " + everything} // what waits is not heard of in any other way
	if by.idle() {
		messages = nil
		for chunk := range slices.Chunk(what, maxNotified) {
			messages = append(messages, by.message(chunk))
		}
	}
	for _, message := range messages {
		if _, err := q.conn.ExecContext(ctx, notify, channel, message); err != nil {
			return q.fail(ctx, err)
		}
	}
	return nil
}

// lookEvery is how often SQLite is asked whether another program wrote to the
// file: the command line may, beside a running server.
const lookEvery = 100 * time.Millisecond

// watchSQLite asks the one connection that writes here: the number that it
// answers changes when any other connection has written.
func watchSQLite(pool *sessions) func(context.Context, cms.Watcher) {
	return func(ctx context.Context, w cms.Watcher) {
		defer w.Deaf(true)
		ticker := time.NewTicker(lookEvery)
		defer ticker.Stop()
		unknown := dataVersion{}
		for version := unknown; ; {
			now, err := pool.dataVersion(ctx)
			switch {
			case err != nil:
				w.Deaf(true)
				version = unknown
			case version == unknown:
				w.Deaf(false)
				version = now
			case now != version:
				w.Changed()
				version = now
			}
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
		}
	}
}

// Nodes on one PostgreSQL tell each other what they changed by notifications.
// Those are sent after the commit and many at a time: sent within, they would
// make every commit wait for the one before. A node that dies in between is
// missed by the others, who then take everything for changed.

const (
	channel = "galley"

	// sendEvery is how long announcements are gathered, and beatEvery how
	// often a node says that it is there.
	sendEvery = 5 * time.Millisecond
	beatEvery = 200 * time.Millisecond
	// silence is how long a node may be silent before it is missed. By then it
	// knows that it is not heard, and what it commits tells of itself.
	silence    = time.Second
	sendWithin = silence / 2

	// maxNotified bounds what one notification is about: it holds 8,000 bytes.
	maxNotified = 150

	// maxPending bounds the transactions that wait to be told of.
	maxPending = 10_000

	goodbye    = "bye"
	everything = "everything"

	notify = `select pg_notify($1, $2)`
)

// announcer tells other nodes what this one changed.
type announcer struct {
	// db is one connection that nobody else waits for: a node that is busy
	// must not be missed for it.
	db      *sql.DB
	node    string
	tell    func([]cms.Subject) // those who watch here
	healthy atomic.Bool         // announcements get out
	others  atomic.Bool         // there are other nodes
	open    atomic.Int64        // transactions that are not told of yet
	mu      sync.Mutex
	pending [][]cms.Subject // of one transaction each
	all     bool            // so much waits that everything is told of
	sending bool            // something is on its way, and may not get there
	doubts  []doubt
}

// doubt is about a commit whose answer was lost, or whose node was. It may take
// effect after it was told of: the server still works at it, or waits for a
// standby.
type doubt struct {
	what   []cms.Subject // none: everything
	before int64         // a transaction that began later; 0: none is known yet
}

func (a *announcer) add(changed ...[]cms.Subject) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.pending = append(a.pending, changed...); len(a.pending) > maxPending {
		a.pending, a.all = nil, true
	}
}

// idle tells whether nothing waits to be told.
func (a *announcer) idle() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.pending) == 0 && !a.all && !a.sending
}

// doubt has these told of once more when the commit is sure to have ended.
func (a *announcer) doubt(changed []cms.Subject) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.doubts = append(a.doubts, doubt{what: changed})
}

// settle tells of the doubtful commits that have ended: all transactions have
// that are older than the oldest that runs.
func (a *announcer) settle(ctx context.Context) {
	a.mu.Lock()
	doubts := a.doubts
	a.doubts = nil
	a.mu.Unlock()
	if len(doubts) == 0 {
		return
	}
	var oldest, next int64
	err := a.db.QueryRowContext(ctx, `select pg_snapshot_xmin(pg_current_snapshot())::text::bigint, pg_current_xact_id()::text::bigint`).Scan(&oldest, &next)
	var ended [][]cms.Subject
	var open []doubt
	for _, d := range doubts {
		switch {
		case err != nil: // asked again
		case d.before == 0:
			d.before = next
		case d.before <= oldest:
			ended = append(ended, d.what)
			continue
		}
		open = append(open, d)
	}
	a.mu.Lock()
	a.doubts = append(a.doubts, open...)
	a.mu.Unlock()
	for _, changed := range ended {
		a.tell(changed)
		if len(changed) > 0 { // other nodes have doubts of their own about everything
			a.add(changed)
		}
	}
}

// message is what a notification says: who it is from, and what changed.
func (a *announcer) message(changed []cms.Subject) string {
	words := []string{a.node}
	for _, what := range changed {
		words = append(words, what.String())
	}
	return strings.Join(words, " ")
}

// send sends what has been gathered, or a sign of life. What could not be
// sent stays.
func (a *announcer) send(ctx context.Context) error {
	a.mu.Lock()
	pending, all := a.pending, a.all
	a.sending = len(pending) > 0 || all
	a.pending, a.all = nil, false
	a.mu.Unlock()
	defer func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.pending, a.all, a.sending = append(pending, a.pending...), a.all || all, false // before what came meanwhile
	}()
	for {
		changed, rest := together(pending)
		message := a.message(changed)
		if all {
			message, rest = a.node+" "+everything, nil
		}
		_, err := a.db.ExecContext(ctx, notify, channel, message)
		a.healthy.Store(err == nil)
		if err != nil {
			return err
		}
		if pending, all = rest, false; len(pending) == 0 {
			return nil
		}
	}
}

// together is what the next notification is about. What a transaction changed
// is told at once, if it can be: who hears of a part of it would show that
// beside what was before.
func together(pending [][]cms.Subject) (changed []cms.Subject, rest [][]cms.Subject) {
	for i, one := range pending {
		more := cms.SortSubjects(append(changed, one...))
		switch {
		case len(more) <= maxNotified:
			changed = more
		case i > 0:
			return changed, pending[i:]
		default:
			return more[:maxNotified], append([][]cms.Subject{more[maxNotified:]}, pending[1:]...)
		}
	}
	return changed, nil
}

// run sends until the context ends, and then says goodbye.
func (a *announcer) run(ctx context.Context) {
	ticker := time.NewTicker(sendEvery)
	defer ticker.Stop()
	var last, settled time.Time
	for {
		select {
		case <-ctx.Done():
			a.part()
			return
		case <-ticker.C:
		}
		if a.idle() && time.Since(last) < beatEvery {
			continue
		}
		sending, cancel := context.WithTimeout(ctx, sendWithin)
		_ = a.send(sending) // tried again
		last = time.Now()
		if last.Sub(settled) >= beatEvery {
			a.settle(sending)
			settled = last
		}
		cancel()
	}
}

// part sends what there is to tell, and says goodbye. It does not if a transaction
// is still open, or a commit may still be done, of which nobody might be told then:
// the node is missed for that.
func (a *announcer) part() {
	parting, cancel := context.WithTimeout(context.Background(), silence)
	defer cancel()
	err := a.send(parting)
	a.healthy.Store(false) // what begins now tells of itself
	if err == nil && a.open.Load() == 0 && a.idle() && !a.inDoubt() {
		// If this is lost, the node is missed: that is well, too.
		_, _ = a.db.ExecContext(parting, notify, channel, a.node+" "+goodbye)
	}
}

// inDoubt tells that others are to be told again of what a commit may have done.
func (a *announcer) inDoubt() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.ContainsFunc(a.doubts, func(d doubt) bool { return len(d.what) > 0 })
}

// watchPostgres listens on a connection of its own, and takes itself for deaf
// until it hears its own node and knows the others.
func watchPostgres(config *pgx.ConnConfig, a *announcer) func(context.Context, cms.Watcher) {
	return func(ctx context.Context, w cms.Watcher) {
		defer w.Deaf(true)
		var sending sync.WaitGroup
		sending.Go(func() { a.run(ctx) })
		defer sending.Wait()
		for ctx.Err() == nil {
			_ = listen(ctx, config, a, w) // the watcher knows that it is deaf
			w.Deaf(true)
			a.others.Store(true) // who comes now is not heard of
			select {
			case <-ctx.Done():
			case <-time.After(beatEvery):
			}
		}
	}
}

func listen(ctx context.Context, config *pgx.ConnConfig, a *announcer, w cms.Watcher) error {
	connecting, cancel := context.WithTimeout(ctx, silence)
	defer cancel()
	conn, err := pgx.ConnectConfig(connecting, config)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.Background()) }() // it is of no more use
	if _, err := conn.Exec(connecting, `listen `+channel); err != nil {
		return err
	}
	ears := ears{
		node: a.node, watcher: w, doubt: func() { a.doubt(nil) }, since: time.Now(), heard: map[string]time.Time{},
	}
	for {
		waiting, cancel := context.WithTimeout(ctx, beatEvery)
		n, err := conn.WaitForNotification(waiting)
		cancel()
		if err != nil && !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
		if err == nil {
			ears.hear(n.Payload, time.Now())
		}
		ears.miss(time.Now())
		switch { // while it is not known, it stays as it was
		case ears.hasCompany():
			a.others.Store(true)
		case ears.open:
			a.others.Store(false)
		}
	}
}

// ears tell a watcher what nodes say.
type ears struct {
	node    string
	watcher cms.Watcher
	doubt   func()               // has everything told of once more when commits under way have ended
	since   time.Time            // it has been listening
	heard   map[string]time.Time // when each node was last heard of
	open    bool
}

func (e *ears) hear(message string, now time.Time) {
	node, rest, _ := strings.Cut(message, " ")
	if rest == goodbye {
		delete(e.heard, node)
		return
	}
	e.heard[node] = now
	if node == e.node {
		// Who is there has been heard of after this time. One that fell silent
		// before would not be missed, and it may have taken news with it.
		if !e.open && now.Sub(e.since) >= silence {
			e.open = true
			e.watcher.Deaf(false)
		}
		return
	}
	var changed []cms.Subject
	for text := range strings.FieldsSeq(rest) {
		what, ok := cms.ParseSubject(text)
		if !ok {
			e.watcher.Changed() // it is everything, or a newer program's word
			return
		}
		changed = append(changed, what)
	}
	if len(changed) > 0 {
		e.watcher.Changed(changed...)
	}
}

// hasCompany tells whether other nodes are heard of.
func (e *ears) hasCompany() bool {
	_, self := e.heard[e.node]
	return len(e.heard) > 1 || (len(e.heard) == 1 && !self)
}

// miss notices nodes that have fallen silent. Others may have taken news with
// them; without our own word nothing is sure.
func (e *ears) miss(now time.Time) {
	for node, at := range e.heard {
		if now.Sub(at) < silence {
			continue
		}
		delete(e.heard, node)
		if node == e.node {
			e.open = false
			e.watcher.Deaf(true)
		} else {
			e.watcher.Changed()
			e.doubt()
		}
	}
}
