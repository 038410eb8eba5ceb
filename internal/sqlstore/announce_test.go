package sqlstore_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"slices"
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
	url := pgtest.URL(t)
	other := migrated(t, openPostgres(t, url))
	wire := startWire(t, url)
	node := openPostgres(t, wire.url)
	heard, ready := watching(t, other), watching(t, node)
	heard.wait(t, "the other node hears", func() bool { return heard.listens })
	ready.wait(t, "the node hears", func() bool { return ready.listens })

	changed, workspace := cms.NewID(), cms.Workspace{ID: cms.NewID(), Name: "W", CreatedAt: time.Now()}
	wire.cutCommit.Store(true)
	err := node.InTx(t.Context(), func(tx cms.Tx) error {
		if err := tx.CreateWorkspace(t.Context(), workspace); err != nil {
			return err
		}
		return tx.Announce(t.Context(), []cms.ID{changed})
	})
	if cms.CodeOf(err) != cms.CodeUnavailable {
		t.Fatalf("the answer of the commit was cut off: %v", err)
	}
	if _, err := other.Workspace(t.Context(), workspace.ID); err != nil {
		t.Fatalf("the commit was to be done: %v", err)
	}
	heard.wait(t, "the other node is told", func() bool { return slices.Contains(heard.ids, changed) })
}

// listener is a watcher that remembers what it was told.
type listener struct {
	mu      sync.Mutex
	listens bool
	ids     []cms.ID
}

func (l *listener) Changed(ids ...cms.ID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ids = append(l.ids, ids...)
}

func (l *listener) Deaf(deaf bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.listens = !deaf
}

func (l *listener) wait(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		l.mu.Lock()
		done := holds()
		l.mu.Unlock()
		if done {
			return
		}
	}
	t.Fatalf("not so after 20 s: %s", what)
}

// watching watches a store until the test ends.
func watching(t *testing.T, store *sqlstore.Store) *listener {
	t.Helper()
	l := &listener{}
	ctx, cancel := context.WithCancel(t.Context())
	var watching sync.WaitGroup
	watching.Go(func() { store.Watch(ctx, l) })
	t.Cleanup(func() { cancel(); watching.Wait() })
	return l
}

// wire is a way to PostgreSQL that can be cut.
type wire struct {
	url       string
	cutCommit atomic.Bool // the next commit is done, and its answer lost
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

// join passes on what each end says.
func (w *wire) join(client, server net.Conn) {
	var cut atomic.Bool
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
		if said[0] == 'Q' && bytes.HasSuffix(said, []byte("commit\x00")) && w.cutCommit.CompareAndSwap(true, false) {
			cut.Store(true)
		}
		return true
	})
	go pass(client, server, func([]byte) bool { return !cut.Load() })
}
