package sqlstore

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"galley/internal/cms"
)

// Shared reports whether other nodes may write to the store.
func (s *Store) Shared() bool { return s.notifier != nil }

// Notify queues a notification of what a commit changed.
func (s *Store) Notify(changed []cms.Subject) {
	if s.notifier != nil {
		s.notifier.add(changed)
	}
}

// Listen reports what other programs change, and on PostgreSQL sends the queued
// notifications, until the context ends.
func (s *Store) Listen(ctx context.Context, changed func(...cms.Subject), listening func(bool)) {
	s.listen(ctx, changed, listening)
}

// pollEvery is how often to check whether another program, such as the command
// line, wrote to the SQLite file.
const pollEvery = 100 * time.Millisecond

// listenSQLite polls the data version of the one connection that writes: it
// changes when any other connection has written.
func listenSQLite(pool *sessions) func(context.Context, func(...cms.Subject), func(bool)) {
	return func(ctx context.Context, changed func(...cms.Subject), listening func(bool)) {
		ticker := time.NewTicker(pollEvery)
		defer ticker.Stop()
		unknown := dataVersion{}
		for last := unknown; ; {
			version, err := pool.dataVersion(ctx)
			switch {
			case err != nil && last != unknown:
				listening(false)
				last = unknown
			case err == nil && last == unknown:
				listening(true)
				last = version
			case err == nil && version != last:
				changed()
				last = version
			}
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
		}
	}
}

// dataVersion changes whenever another connection has written. Versions of two
// connections can't be compared.
type dataVersion struct{ session, number int64 }

func (p *sessions) dataVersion(ctx context.Context) (version dataVersion, err error) {
	err = p.use(ctx, func(s *session) error {
		version.session = s.number
		return s.query(ctx, "pragma data_version", nil, func(r row) error { return r.Scan(&version.number) })
	})
	return version, err
}

const (
	channel = "galley"
	notify  = `select pg_notify($1, $2)`

	// maxNotified limits the subjects of one notification, which holds 8,000 bytes,
	// and maxPending the transactions that wait to be sent.
	maxNotified = 150
	maxPending  = 10_000

	notifyTimeout = time.Second
	// pingEvery is how often a silent connection is checked, and reconnectAfter the
	// pause before the next attempt to connect.
	pingEvery      = 5 * time.Second
	reconnectAfter = 200 * time.Millisecond
)

// notifier sends notifications after commits, many at a time: a notification
// within a transaction would serialize all commits of the database.
type notifier struct {
	node string
	wake chan struct{}

	mu      sync.Mutex
	pending [][]cms.Subject // of one transaction each
}

func newNotifier() *notifier {
	return &notifier{node: cms.NewID().String(), wake: make(chan struct{}, 1)}
}

// add queues what a transaction changed. A notification may be lost: other nodes
// cache responses for a second only.
func (n *notifier) add(changed []cms.Subject) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.pending) < maxPending {
		n.pending = append(n.pending, changed)
	}
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

// next takes the subjects of the next notification. Those of one transaction go
// together, so that a reader never sees a part of it.
func (n *notifier) next() []cms.Subject {
	n.mu.Lock()
	defer n.mu.Unlock()
	var changed []cms.Subject
	for len(n.pending) > 0 {
		more := cms.SortSubjects(append(changed, n.pending[0]...))
		if len(more) > maxNotified && len(changed) > 0 {
			break
		}
		changed, n.pending = more, n.pending[1:]
	}
	return changed[:min(len(changed), maxNotified)]
}

// run sends what is queued until the context ends.
func (n *notifier) run(ctx context.Context, send func(ctx context.Context, message string) error) {
	for {
		select {
		case <-ctx.Done():
			n.flush(context.WithoutCancel(ctx), send)
			return
		case <-n.wake:
			n.flush(ctx, send)
		}
	}
}

func (n *notifier) flush(ctx context.Context, send func(ctx context.Context, message string) error) {
	for changed := n.next(); len(changed) > 0; changed = n.next() {
		words := []string{n.node}
		for _, subject := range changed {
			words = append(words, subject.String())
		}
		sending, cancel := context.WithTimeout(ctx, notifyTimeout)
		_ = send(sending, strings.Join(words, " ")) // see add
		cancel()
	}
}

// listenPostgres receives notifications on a connection of its own, and connects
// again when it is lost.
func listenPostgres(config *pgx.ConnConfig, n *notifier, send func(ctx context.Context, message string) error) func(context.Context, func(...cms.Subject), func(bool)) {
	return func(ctx context.Context, changed func(...cms.Subject), listening func(bool)) {
		var sending sync.WaitGroup
		sending.Go(func() { n.run(ctx, send) })
		defer sending.Wait()
		for ctx.Err() == nil {
			_ = receive(ctx, config, func() { listening(true) }, func(message string) { n.received(message, changed) })
			listening(false)
			select {
			case <-ctx.Done():
			case <-time.After(reconnectAfter):
			}
		}
	}
}

// receive passes on notifications until the connection is lost.
func receive(ctx context.Context, config *pgx.ConnConfig, connected func(), received func(message string)) error {
	connecting, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	conn, err := pgx.ConnectConfig(connecting, config)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }() // its state is unknown
	if _, err := conn.Exec(connecting, `listen `+channel); err != nil {
		return err
	}
	connected()
	for {
		waiting, cancel := context.WithTimeout(ctx, pingEvery)
		n, err := conn.WaitForNotification(waiting)
		cancel()
		switch {
		case err == nil:
			received(n.Payload)
		case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
			pinging, cancel := context.WithTimeout(ctx, notifyTimeout)
			err = conn.Ping(pinging)
			cancel()
			if err != nil {
				return err
			}
		default:
			return err
		}
	}
}

// received reports a notification, unless it is this node's own. An unknown word is
// of a newer program, and may mean anything.
func (n *notifier) received(message string, changed func(...cms.Subject)) {
	words := strings.Fields(message)
	if len(words) == 0 || words[0] == n.node {
		return
	}
	subjects := make([]cms.Subject, len(words)-1)
	for i, word := range words[1:] {
		var ok bool
		if subjects[i], ok = cms.ParseSubject(word); !ok {
			changed()
			return
		}
	}
	changed(subjects...)
}
