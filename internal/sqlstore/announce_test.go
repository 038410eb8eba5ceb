package sqlstore_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"galley/internal/cms"
	"galley/internal/pgtest"
	"galley/internal/sqlstore"
)

// TestOthersHearOfACommitWhoseAnswerWasLost cuts a node's connection between the
// commit and its answer. Nobody knows then whether the write was done: the other
// nodes have to take it for done, or they answer from memory what is no more.
func TestOthersHearOfACommitWhoseAnswerWasLost(t *testing.T) {
	t.Parallel()
	p := startPair(t)
	changed, workspace := cms.Subject{ID: cms.NewID(), Drafts: true}, cms.Workspace{ID: cms.NewID(), Name: "W", CreatedAt: time.Now()}
	p.wire.cutCommit.Store(true)
	err := announces(t, p.node, workspace, changed)
	if cms.CodeOf(err) != cms.CodeUnavailable {
		t.Fatalf("the answer of the commit was cut off: %v", err)
	}
	if _, err := p.other.Workspace(t.Context(), workspace.ID); err != nil {
		t.Fatalf("the commit was to be done: %v", err)
	}
	p.there.wait(t, "the other node is told", func() bool { return slices.Contains(p.there.heard, changed) })
}

// TestOthersHearOfACommitThatIsDoneLater loses a connection before the commit
// has reached the server. What the nodes were told at once they read the old
// state after: they must be told again.
func TestOthersHearOfACommitThatIsDoneLater(t *testing.T) {
	t.Parallel()
	p := startPair(t)
	changed, workspace := cms.Subject{ID: cms.NewID(), Drafts: true}, cms.Workspace{ID: cms.NewID(), Name: "W", CreatedAt: time.Now()}
	arrive := make(chan struct{})
	p.wire.holdCommit.Store(&arrive)
	err := announces(t, p.node, workspace, changed)
	if cms.CodeOf(err) != cms.CodeUnavailable {
		t.Errorf("the connection was lost: %v", err)
	}
	awaitBeats(t, p.url)
	for name, l := range map[string]*listener{"the other node": p.there, "the node": p.here} {
		l.wait(t, name+" is told of what may still happen", func() bool { return slices.Contains(l.heard, changed) })
	}
	there, here := p.there.times(changed), p.here.times(changed) // once each, unless an answer was late
	if _, err := p.other.Workspace(t.Context(), workspace.ID); cms.CodeOf(err) != cms.CodeNotFound {
		t.Errorf("the commit was not to be done yet: %v", err)
	}
	close(arrive)
	p.there.wait(t, "the other node is told again", func() bool { return count(p.there.heard, changed) > there })
	p.here.wait(t, "the node is told again", func() bool { return count(p.here.heard, changed) > here })
	if _, err := p.other.Workspace(t.Context(), workspace.ID); err != nil {
		t.Errorf("it was told again and is not done: %v", err)
	}
}

// TestOthersHearOfWhatCouldNotBeTold breaks the connection by which a node tells
// others what it has committed. It goes on writing, and tells of that within its
// transactions: others hear of it and do not miss it, so they must hear of what
// it could not tell before, too.
func TestOthersHearOfWhatCouldNotBeTold(t *testing.T) {
	t.Parallel()
	for name, mute := range map[string]func(){"closed": func() {}, "hanging": func() { <-t.Context().Done() }} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := startPair(t)
			p.wire.mute.Store(&mute)
			lost := p.there.lostCount()
			stuck := cms.Subject{ID: cms.NewID()}
			p.write(t, stuck)
			stop := make(chan struct{})
			var writer sync.WaitGroup
			writer.Go(func() {
				for {
					select {
					case <-stop:
						return
					case <-time.After(100 * time.Millisecond):
						p.write(t, cms.Subject{ID: cms.NewID()})
					}
				}
			})
			defer writer.Wait()
			defer close(stop)
			p.there.wait(t, "the other node is told, or takes everything for changed", func() bool {
				return slices.Contains(p.there.heard, stuck) || p.there.lost > lost
			})
		})
	}
}

// TestANodeThatStopsIsMissedForWhatItStillCommits ends the telling while a
// transaction is open that counts on it. The node does not say goodbye then:
// others take everything for changed when they hear no more of it.
func TestANodeThatStopsIsMissedForWhatItStillCommits(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	other, node := migrated(t, openPostgres(t, url)), openPostgres(t, url)
	there, here := bothHear(t, other, node)

	changed, lost := cms.Subject{ID: cms.NewID()}, there.lostCount()
	err := node.InTx(t.Context(), func(tx cms.Tx) error {
		if err := tx.Announce(t.Context(), []cms.Subject{changed}); err != nil {
			return err
		}
		here.stop()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	there.wait(t, "the other node takes everything for changed", func() bool { return there.lost > lost })
	if there.times(changed) > 0 {
		t.Error("the change was told of, and this test proves nothing")
	}
}

// TestANodeThatStopsInDoubtIsMissed ends the telling while nobody knows what
// becomes of a commit whose answer was lost. Others have read the old state since
// they were told of it.
func TestANodeThatStopsInDoubtIsMissed(t *testing.T) {
	t.Parallel()
	p := startPair(t)
	changed, workspace := cms.Subject{ID: cms.NewID(), Drafts: true}, cms.Workspace{ID: cms.NewID(), Name: "W", CreatedAt: time.Now()}
	arrive := make(chan struct{})
	p.wire.holdCommit.Store(&arrive)
	if err := announces(t, p.node, workspace, changed); cms.CodeOf(err) != cms.CodeUnavailable {
		t.Errorf("the connection was lost: %v", err)
	}
	p.there.wait(t, "the other node is told of what may still happen", func() bool { return slices.Contains(p.there.heard, changed) })
	p.here.stop()
	lost := p.there.lostCount()
	close(arrive)
	p.there.wait(t, "the other node takes everything for changed", func() bool { return p.there.lost > lost })
}

// TestABusyNodeIsNotMissed lends all connections of a node's pool for longer
// than a node may be silent.
func TestABusyNodeIsNotMissed(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	other, node := migrated(t, openPostgres(t, url)), openPostgres(t, url)
	there, here := bothHear(t, other, node)

	pool := node.Pools()["main"]
	for range pool.Stats().MaxOpenConnections {
		conn, err := pool.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
	}
	// On a machine that has no time for either, both may lose the thread; one
	// that has no connection does so every time.
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); {
		before := there.lostCount() + here.lostCount()
		awaitBeats(t, url)
		if there.lostCount()+here.lostCount() == before {
			return
		}
	}
	t.Errorf("the other node lost the thread %d times, the node %d times", there.lostCount(), here.lostCount())
}

// awaitBeats waits until two nodes have given so many signs of life that one
// which gives none is missed.
func awaitBeats(t *testing.T, url string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	if _, err := conn.Exec(ctx, "listen galley"); err != nil {
		t.Fatal(err)
	}
	const nodes, enough = 2, 10
	beats := map[string]int{}
	for alive := 0; alive < nodes; {
		n, err := conn.WaitForNotification(ctx)
		if err != nil {
			t.Fatalf("signs of life: %v, %v", beats, err)
		}
		node, _, _ := strings.Cut(n.Payload, " ")
		if beats[node]++; beats[node] == enough {
			alive++
		}
	}
}

// listener is a watcher that remembers what it was told.
type listener struct {
	mu      sync.Mutex
	listens bool
	heard   []cms.Subject
	lost    int // times that anything may have changed
	stop    func()
}

func (l *listener) times(what cms.Subject) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return count(l.heard, what)
}

func (l *listener) lostCount() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lost
}

func count(heard []cms.Subject, what cms.Subject) (n int) {
	for _, one := range heard {
		if one == what {
			n++
		}
	}
	return n
}

func (l *listener) Changed(what ...cms.Subject) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.heard = append(l.heard, what...)
	if len(what) == 0 {
		l.lost++
	}
}

func (l *listener) Deaf(deaf bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.listens = !deaf
	if deaf {
		l.lost++
	}
}

func (l *listener) wait(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		l.mu.Lock()
		done := holds()
		l.mu.Unlock()
		if done {
			return
		}
	}
	t.Fatalf("not so after two minutes: %s", what)
}

// pair are two nodes on one database that hear each other, one of them by a way
// that can be cut.
type pair struct {
	url         string
	wire        *wire
	other, node *sqlstore.Store // the node is the one behind the wire
	there, here *listener
}

func startPair(t *testing.T) pair {
	t.Helper()
	p := pair{url: pgtest.URL(t)}
	p.other, p.wire = migrated(t, openPostgres(t, p.url)), startWire(t, p.url)
	p.node = openPostgres(t, p.wire.url)
	p.there, p.here = bothHear(t, p.other, p.node)
	return p
}

// write has the node write something, and tell of what changed.
func (p pair) write(t *testing.T, changed cms.Subject) {
	t.Helper()
	if err := announces(t, p.node, cms.Workspace{ID: cms.NewID(), Name: "W", CreatedAt: time.Now()}, changed); err != nil {
		t.Error(err)
	}
}

// bothHear has two nodes listen.
func bothHear(t *testing.T, other, node *sqlstore.Store) (there, here *listener) {
	t.Helper()
	there, here = watching(t, other), watching(t, node)
	there.wait(t, "the other node hears", func() bool { return there.listens })
	here.wait(t, "the node hears", func() bool { return here.listens })
	return there, here
}

// announces makes a workspace, and tells of something that changed with it.
func announces(t *testing.T, node *sqlstore.Store, workspace cms.Workspace, changed cms.Subject) error {
	t.Helper()
	return node.InTx(t.Context(), func(tx cms.Tx) error {
		if err := tx.CreateWorkspace(t.Context(), workspace); err != nil {
			return err
		}
		return tx.Announce(t.Context(), []cms.Subject{changed})
	})
}

// watching watches a store until it is stopped, or the test ends.
func watching(t *testing.T, store *sqlstore.Store) *listener {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var watching sync.WaitGroup
	l := &listener{stop: func() { cancel(); watching.Wait() }}
	watching.Go(func() { store.Watch(ctx, l) })
	t.Cleanup(l.stop)
	return l
}

// wire is a way to PostgreSQL that can be cut.
type wire struct {
	url       string
	cutCommit atomic.Bool // the next commit is done, and its answer lost
	// mute keeps everything back that is told outside of transactions, and its
	// connection is closed when it returns.
	mute atomic.Pointer[func()]
	// holdCommit has the next commit reach the server when the channel is
	// closed, and its connection lost before.
	holdCommit atomic.Pointer[chan struct{}]
}

func startWire(t *testing.T, url string) *wire {
	t.Helper()
	config, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	door, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = door.Close() })
	w := &wire{url: fmt.Sprintf("postgres://postgres@%s/%s?sslmode=disable", door.Addr(), config.Database)}
	go func() {
		for {
			client, err := door.Accept()
			if err != nil {
				return // the test is over
			}
			server, err := net.Dial("unix", fmt.Sprintf("%s/.s.PGSQL.%d", config.Host, config.Port))
			if err != nil {
				t.Error(err)
				return
			}
			w.join(client, server)
		}
	}()
	return w
}

// runCommit is what the driver says to run the prepared commit: a name of no
// portal, and that of the statement.
var runCommit = func() []byte {
	digest := sha256.Sum256([]byte("commit"))
	return []byte("\x00stmtcache_" + hex.EncodeToString(digest[:24]) + "\x00")
}()

// join passes on what each end says.
func (w *wire) join(client, server net.Conn) {
	var cut atomic.Bool
	begun, tells := false, false // it has had a transaction, or tells of others
	pass := func(to, from net.Conn, look func([]byte) (goOn bool)) {
		defer func() { _, _ = client.Close(), server.Close() }()
		for buffer := make([]byte, 64<<10); ; {
			n, err := from.Read(buffer)
			if err != nil || !look(buffer[:n]) {
				return
			}
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
	}
	go pass(server, client, func(said []byte) bool {
		begun = begun || bytes.Contains(said, []byte("begin"))
		tells = tells || (!begun && bytes.Contains(said, []byte("pg_notify")))
		if mute := w.mute.Load(); tells && mute != nil {
			(*mute)()
			return false
		}
		if !bytes.Contains(said, runCommit) {
			return true
		}
		if w.cutCommit.CompareAndSwap(true, false) {
			cut.Store(true)
		}
		if arrive := w.holdCommit.Swap(nil); arrive != nil {
			_ = client.Close()
			<-*arrive
		}
		return true
	})
	go pass(client, server, func([]byte) bool { return !cut.Load() })
}
