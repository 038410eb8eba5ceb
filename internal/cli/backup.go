package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"galley/internal/backup"
	"galley/internal/config"
	"galley/internal/sqlstore"
)

type backupCommand struct {
	config.Store

	File string `arg:"" help:"File to write, or - for standard output."`
}

func (c *backupCommand) Help() string {
	return `The server may run and write meanwhile: the backup is of one moment. It is the
same for both databases; 'galley restore' reads it into either.

Examples:
  galley backup /backups/monday.galley
  galley backup --database-url postgres://galley@localhost/galley monday.galley
  galley backup - | ssh vault 'cat > monday.galley'`
}

func (c *backupCommand) Run(t *terminal) error {
	if c.File == toStdout && isTerminal(t.out) {
		return errors.New("a backup is nothing to look at: send standard output to a file or a program")
	}
	store, err := openExisting(c.Store)
	if err != nil {
		return err
	}
	return errors.Join(t.trouble(c.Store, c.write(t, store)), store.Close())
}

// trouble says what an error of a whole store's reading or filling is about.
func (t *terminal) trouble(c config.Store, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, sqlstore.ErrNotReady):
		reason := strings.TrimPrefix(explain(c, err).Error(), sqlstore.ErrNotReady.Error()+": ")
		return fmt.Errorf("%w: %s; 'galley serve' finishes it", sqlstore.ErrNotReady, reason)
	case t.ctx.Err() != nil:
		return errors.New("stopped before the end: nothing was kept")
	case errors.Is(err, sqlstore.ErrNotEmpty):
		return errors.New("the store is not empty, and only an empty one can be filled: name a new folder or a new database")
	}
	return explain(c, err)
}

// toStdout is the name of standard output.
const toStdout = "-"

func (c *backupCommand) write(t *terminal, store *sqlstore.Store) error {
	start := time.Now()
	var rows, size int64
	err := store.Snapshot(t.ctx, func(s *sqlstore.Snapshot) error {
		return c.toFile(t, func(out io.Writer) error {
			header := backup.Header{Schema: s.Schema, Engine: s.Engine, CreatedAt: now().UTC().Truncate(time.Millisecond), Program: Version}
			w, err := backup.NewWriter(out, header)
			if err != nil {
				return err
			}
			if rows, err = dump(t, "Backing up", s, w); err != nil {
				return err
			}
			err = w.Close()
			size = w.Size()
			return err
		})
	})
	if err != nil {
		return err
	}
	said, name := t.out, c.File
	if c.File == toStdout {
		said, name = t.err, "standard output"
	} else if info, err := os.Stat(c.File); err != nil || !info.Mode().IsRegular() {
		said = t.err // the backup may have gone where we would say it
	}
	_, _ = fmt.Fprintf(said, "Backed up %s rows to %s: %s in %s.\n", amount(rows), name, volume(size), seconds(time.Since(start)))
	return nil
}

// dump sends a snapshot to a sink and shows how far it is. It returns how many
// rows it sent.
func dump(t *terminal, what string, s *sqlstore.Snapshot, to sqlstore.Sink) (rows int64, err error) {
	total := int64(-1)
	if isTerminal(t.err) { // counting takes a while
		if total, err = s.Count(t.ctx); err != nil {
			return 0, err
		}
	}
	counted := &watched{Sink: to, bar: t.bar(what, "rows", total)}
	err = s.Dump(t.ctx, counted)
	_ = counted.bar.Finish() // only to be looked at
	return counted.rows, err
}

// toFile writes the file under another name first, so that one of its own name
// is always whole.
func (c *backupCommand) toFile(t *terminal, write func(io.Writer) error) error {
	if c.File == toStdout {
		return write(t.out)
	}
	name := behindLinks(c.File)
	if isOfStore(c.Store, name) {
		return fmt.Errorf("%s is a file of the store itself: name another for the backup", c.File)
	}
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		return toDevice(name, info, write)
	}
	folder, err := os.Open(filepath.Dir(name))
	if err != nil {
		return fmt.Errorf("can't write the backup: %w", err)
	}
	defer func() { _ = folder.Close() }() // nothing is written by it
	partial := name + ".partial"
	file, err := os.OpenFile(partial, os.O_WRONLY|os.O_CREATE|noFollow, 0o600)
	if err != nil {
		return fmt.Errorf("can't write the backup: %w", err)
	}
	if err := holdAlone(file); err != nil {
		return errors.Join(fmt.Errorf("another backup is being written to %s (%w)", partial, err), file.Close())
	}
	if err = fill(file, write); err == nil {
		err = os.Rename(partial, name)
	}
	if err != nil {
		err = errors.Join(err, os.Remove(partial))
	} else {
		err = folder.Sync()
	}
	return errors.Join(err, file.Close()) // others may have the name from now on
}

// isOfStore tells whether a file is one of those that SQLite keeps a store in,
// or would be if it were there.
func isOfStore(c config.Store, name string) bool {
	if c.DatabaseURL != "" {
		return false
	}
	database := behindLinks(filepath.Join(c.Data, sqlstore.DatabaseFile))
	for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
		own := database + suffix
		if sameFile(name, own) || filepath.Base(name) == filepath.Base(own) && sameFile(filepath.Dir(name), filepath.Dir(own)) {
			return true
		}
	}
	return false
}

// sameFile tells whether two names are of one file or folder that is there.
func sameFile(one, two string) bool {
	first, err := os.Stat(one)
	if err != nil {
		return false
	}
	second, err := os.Stat(two)
	return err == nil && os.SameFile(first, second)
}

// maxLinks is how many links may follow each other, as on Linux.
const maxLinks = 40

// behindLinks is the name that a link leads to, also if nothing is there yet.
func behindLinks(name string) string {
	if target, err := filepath.EvalSymlinks(name); err == nil {
		return target
	}
	if _, err := os.Stat(name); err == nil {
		return name // a pipe of ours, which has no other name
	}
	for range maxLinks {
		target, err := os.Readlink(name)
		if err != nil {
			break
		}
		if !filepath.IsAbs(target) {
			target = filepath.Dir(name) + string(filepath.Separator) + target
		}
		name = target
	}
	return name
}

// toDevice writes to what is no file, and so has no name to be given to one: a
// pipe, or /dev/stdout.
func toDevice(name string, info os.FileInfo, write func(io.Writer) error) error {
	if info.IsDir() {
		return fmt.Errorf("%s is a folder: name a file in it", name)
	}
	device, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("can't write the backup: %w", err)
	}
	return errors.Join(write(device), device.Close())
}

// fill writes a file through to the disk. A killed backup may have left it, and
// somebody else may have made it.
func fill(file *os.File, write func(io.Writer) error) error {
	if err := errors.Join(file.Chmod(0o600), file.Truncate(0)); err != nil {
		return err
	}
	if err := write(file); err != nil {
		return err
	}
	return file.Sync()
}

// openExisting opens a store that has to be there.
func openExisting(c config.Store) (*sqlstore.Store, error) {
	if err := checkThere(c); err != nil {
		return nil, err
	}
	return openStore(c, nil)
}

// checkThere refuses a store that is not there: looking for one must not make
// it.
func checkThere(c config.Store) error {
	if c.DatabaseURL != "" {
		return nil
	}
	if c.Data == "" {
		return errNoName
	}
	switch _, err := os.Stat(filepath.Join(c.Data, sqlstore.DatabaseFile)); {
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("there is no store in %s: name another folder, or the URL of a database (%w)", c.Data, err)
	case err != nil:
		return fmt.Errorf("can't look whether there is a store in %s: %w", c.Data, err)
	}
	return nil
}
