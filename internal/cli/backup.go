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
	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

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
	return withStore(c.Store, false, func(store *sqlstore.Store) error {
		return t.explainLoad(c.Store, c.write(t, store))
	})
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
	err := withStore(c.Store, true, func(store *sqlstore.Store) error {
		bar := t.bar("Restoring", "rows", file.Rows())
		err := store.Load(t.ctx, file.Schema, func(to sqlstore.Sink) error {
			return file.Replay(t.ctx, &watched{Sink: to, bar: bar})
		})
		_ = bar.Finish() // errors of the progress bar do not matter
		return t.explainLoad(c.Store, err)
	})
	if err != nil {
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
	return withStore(storeAt(c.From), false, func(from *sqlstore.Store) error { return c.copyFrom(t, from) })
}

func (c *copyCommand) copyFrom(t *terminal, from *sqlstore.Store) error {
	start, sink, at := time.Now(), &watched{}, storeAt(c.From) // at is the store that an error is about
	err := from.Snapshot(t.ctx, func(s *sqlstore.Snapshot) error {
		at = storeAt(c.To)
		return withStore(at, true, func(to *sqlstore.Store) error {
			return to.Load(t.ctx, s.Schema, func(target sqlstore.Sink) error {
				*sink = watched{Sink: target}
				err := sink.dump(t, "Copying", s)
				if err != nil && sink.err == nil {
					at = storeAt(c.From)
				}
				return err
			})
		})
	})
	if err != nil {
		return t.explainLoad(at, err)
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

func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// bar shows progress on a terminal.
func (t *terminal) bar(what, unit string, total int64) *progressbar.ProgressBar {
	if !isTerminal(t.err) {
		return progressbar.DefaultSilent(total)
	}
	options := []progressbar.Option{
		progressbar.OptionSetWriter(t.err), progressbar.OptionSetDescription(what), progressbar.OptionSetItsString(unit),
		progressbar.OptionShowCount(), progressbar.OptionShowIts(), progressbar.OptionSetWidth(30),
		progressbar.OptionThrottle(100 * time.Millisecond), progressbar.OptionClearOnFinish(),
	}
	if unit == "B" {
		options = append(options, progressbar.OptionShowBytes(true))
	}
	return progressbar.NewOptions64(total, options...)
}

// watched is a sink that counts rows, shows progress and keeps its last error.
type watched struct {
	sqlstore.Sink
	bar  *progressbar.ProgressBar
	rows int64
	err  error
}

// barStep is the number of rows between updates of a progress bar.
const barStep = 500

// dump sends a snapshot to the sink and shows the progress.
func (w *watched) dump(t *terminal, what string, s *sqlstore.Snapshot) (err error) {
	total := int64(-1)
	if isTerminal(t.err) { // counting takes a while
		if total, err = s.Count(t.ctx); err != nil {
			return err
		}
	}
	w.bar = t.bar(what, "rows", total)
	err = s.Dump(t.ctx, w)
	_ = w.bar.Finish() // errors of the progress bar do not matter
	return err
}

// Table forwards to the sink.
func (w *watched) Table(name string, columns []string) error {
	w.err = w.Sink.Table(name, columns)
	return w.err
}

// Row forwards to the sink and counts.
func (w *watched) Row(values []any) error {
	if w.rows++; w.rows%barStep == 0 {
		_ = w.bar.Add64(barStep) // errors of the progress bar do not matter
	}
	w.err = w.Sink.Row(values)
	return w.err
}

// volume writes a number of bytes with its unit.
func volume(n int64) string { return humanize.SIWithDigits(float64(n), 1, "B") }

// seconds writes a duration.
func seconds(took time.Duration) string { return fmt.Sprintf("%.1f s", took.Seconds()) }
