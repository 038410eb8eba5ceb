package cli

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"galley/internal/cms"
	"galley/internal/config"
	"galley/internal/sqlstore"
)

// fullDiskError is what SQLite says when it has no room.
func fullDiskError(t *testing.T) error {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "full.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(t.Context(), `create table t (a); pragma max_page_count = 2`); err != nil {
		t.Fatal(err)
	}
	_, err = db.ExecContext(t.Context(), `insert into t values (zeroblob(100000))`)
	if err == nil {
		t.Fatal("there was room")
	}
	return err
}

// Commands are for those who can do something about it: "try again" is not.
func TestFullDiskIsTold(t *testing.T) {
	away, at := cms.Unavailable(fullDiskError(t)), config.Store{Data: t.TempDir()}
	command := &terminal{ctx: t.Context()}
	for name, c := range map[string]struct {
		err  error
		says string
	}{
		"at a write": {explain(at, away), "galley: the store in " + at.Data + " can't be used: database or disk is full (13)\n"},
		"at a load":  {command.explainLoad(at, away), "galley: the store in " + at.Data + " can't be used: database or disk is full (13)\n"},
		"after a load": {
			command.explainLoad(at, fmt.Errorf("%w: %w", sqlstore.ErrNotReady, away)),
			"galley: everything is in the store, but it could not be made ready: the store in " + at.Data +
				" can't be used: database or disk is full (13); 'galley serve' finishes it\n",
		},
		"another one after a load": {
			command.explainLoad(at, fmt.Errorf("%w: %w", sqlstore.ErrNotReady, errors.New("so"))),
			"galley: everything is in the store, but it could not be made ready: so; 'galley serve' finishes it\n",
		},
	} {
		var said bytes.Buffer
		if code := (&terminal{err: &said}).fail(c.err); code != 1 || said.String() != c.says {
			t.Errorf("%s: %q", name, said.String())
		}
	}
	if left, err := filepath.Glob(filepath.Join(at.Data, "*")); err != nil || len(left) > 0 {
		t.Errorf("left %s (%v)", left, err)
	}
}
