package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"galley/internal/backup"
	"galley/internal/config"
	"galley/internal/sqlstore"
)

type backupCommand struct {
	config.Store

	File string `arg:"" help:"File to write, or - for standard output."`
}

func (c *backupCommand) Run(t *terminal) error {
	if c.File == toStdout && isTerminal(t.out) {
		return errors.New("refusing to write a backup to the terminal: redirect standard output to a file or a program")
	}
	store, err := openExisting(c.Store)
	if err != nil {
		return err
	}
	return errors.Join(t.explainLoad(c.Store, c.write(t, store)), store.Close())
}

// toStdout is the name of standard output.
const toStdout = "-"

func (c *backupCommand) write(t *terminal, store *sqlstore.Store) error {
	start := time.Now()
	var rows, size int64
	err := store.Snapshot(t.ctx, func(s *sqlstore.Snapshot) error {
		return c.writeFile(t, func(out io.Writer) error {
			header := backup.Header{Schema: s.Schema, Engine: s.Engine, CreatedAt: now().UTC().Truncate(time.Millisecond), Program: Version}
			w, err := backup.NewWriter(out, header)
			if err != nil {
				return err
			}
			sink := &watched{Sink: w}
			if err := sink.dump(t, "Backing up", s); err != nil {
				return err
			}
			err = w.Close()
			rows, size = sink.rows, w.Size()
			return err
		})
	})
	if err != nil {
		return err
	}
	out, name := t.out, c.File
	if c.File == toStdout {
		out, name = t.err, "standard output"
	} else if info, err := os.Stat(c.File); err != nil || !info.Mode().IsRegular() {
		out = t.err // the file may be standard output
	}
	_, _ = fmt.Fprintf(out, "Backed up %s rows to %s: %s in %s.\n", humanize.Comma(rows), name, volume(size), seconds(time.Since(start)))
	return nil
}

type restoreCommand struct {
	config.Store

	File string `arg:"" help:"File that 'galley backup' wrote."`
}

func (c *restoreCommand) Run(t *terminal) error {
	if isStoreFile(c.Store, resolveLinks(c.File)) { // SQLite removes a log that it can't read
		return fmt.Errorf("%s would be overwritten by the store's own files: restore to another folder", c.File)
	}
	bar := t.bar("Verifying", "B", backup.Size(c.File))
	file, err := backup.Open(t.ctx, c.File, bar)
	_ = bar.Finish() // errors of the progress bar do not matter
	if err != nil {
		return t.explainLoad(c.Store, err)
	}
	return errors.Join(c.restore(t, file), file.Close())
}

func (c *restoreCommand) restore(t *terminal, file *backup.File) error {
	if latest := sqlstore.LatestSchema(); file.Schema > latest {
		return fmt.Errorf("%s has schema version %d and this program supports up to %d: use a newer galley", c.File, file.Schema, latest)
	}
	start := time.Now()
	store, err := openStore(c.Store, nil)
	if err != nil {
		return err
	}
	bar := t.bar("Restoring", "rows", file.Rows())
	err = store.Load(t.ctx, file.Schema, func(to sqlstore.Sink) error {
		return file.Replay(t.ctx, &watched{Sink: to, bar: bar})
	})
	_ = bar.Finish() // errors of the progress bar do not matter
	if err = errors.Join(t.explainLoad(c.Store, err), store.Close()); err != nil {
		return err
	}
	t.printf("Restored %s rows from %s (made %s on %s) in %s. Keys work as before.\n",
		humanize.Comma(file.Rows()), c.File, file.CreatedAt.Format(time.RFC3339), file.Engine, seconds(time.Since(start)))
	return nil
}

type copyCommand struct {
	From string `help:"Store to copy: a data folder or a PostgreSQL URL." required:"" placeholder:"STORE"`
	To   string `help:"Empty store to copy to: a data folder or a PostgreSQL URL." required:"" placeholder:"STORE"`
}

func (c *copyCommand) Run(t *terminal) error {
	for _, name := range []string{c.From, c.To} {
		if connectionString.MatchString(name) {
			return errors.New("write a PostgreSQL database as postgres://USER:PASSWORD@HOST/NAME, or put ./ before the name of a folder")
		}
	}
	from, err := openExisting(storeAt(c.From))
	if err != nil {
		return err
	}
	return errors.Join(c.copyFrom(t, from), from.Close())
}

func (c *copyCommand) copyFrom(t *terminal, from *sqlstore.Store) error {
	start, sink := time.Now(), &watched{}
	var failed error // after both stores were open
	err := from.Snapshot(t.ctx, func(s *sqlstore.Snapshot) error {
		to, err := openStore(storeAt(c.To), nil)
		if err != nil {
			return err
		}
		at := storeAt(c.To)
		err = to.Load(t.ctx, s.Schema, func(target sqlstore.Sink) error {
			*sink = watched{Sink: target}
			err := sink.dump(t, "Copying", s)
			if err != nil && sink.err == nil {
				at = storeAt(c.From)
			}
			return err
		})
		failed = errors.Join(t.explainLoad(at, err), to.Close())
		return failed
	})
	switch {
	case failed != nil:
		return failed
	case err != nil:
		return t.explainLoad(storeAt(c.From), err)
	}
	t.printf("Copied %s rows in %s. Keys work as before.\n", humanize.Comma(sink.rows), seconds(time.Since(start)))
	return nil
}

// storeAt is the store that a folder or a URL names.
func storeAt(where string) config.Store {
	if strings.Contains(where, "://") {
		return config.Store{DatabaseURL: where}
	}
	return config.Store{Data: where}
}

// connectionString matches the keyword form of a PostgreSQL address, which is not
// meant as the name of a folder.
var connectionString = regexp.MustCompile(`^\s*[a-z_]+\s*=`)

// explainLoad explains an error of reading or filling a whole store.
func (t *terminal) explainLoad(c config.Store, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, sqlstore.ErrNotReady):
		reason := strings.TrimPrefix(explain(c, err).Error(), sqlstore.ErrNotReady.Error()+": ")
		return fmt.Errorf("%w: %s; 'galley serve' finishes it", sqlstore.ErrNotReady, reason)
	case t.ctx.Err() != nil:
		return errors.New("stopped before the end: nothing was kept")
	case errors.Is(err, sqlstore.ErrNotEmpty):
		return errors.New("the store is not empty: use a new folder or a new database")
	}
	return explain(c, err)
}
