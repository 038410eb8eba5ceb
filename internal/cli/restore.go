package cli

import (
	"errors"
	"fmt"
	"time"

	"galley/internal/backup"
	"galley/internal/config"
	"galley/internal/sqlstore"
)

type restoreCommand struct {
	config.Store

	File string `arg:"" help:"File that 'galley backup' wrote."`
}

func (c *restoreCommand) Help() string {
	return `The store has to be empty, and the file is checked from end to end before
anything is written. Ids and keys stay what they were.

Examples:
  galley restore --data ./new-data /backups/monday.galley
  galley restore --database-url postgres://galley@localhost/new /backups/monday.galley`
}

func (c *restoreCommand) Run(t *terminal) error {
	if isOfStore(c.Store, behindLinks(c.File)) { // SQLite takes away a log that it can't read
		return fmt.Errorf("%s is in the place of a file of the store that is to be filled: name another folder", c.File)
	}
	bar := t.bar("Checking", "B", backup.Size(c.File))
	file, err := backup.Open(t.ctx, c.File, bar)
	_ = bar.Finish() // only to be looked at
	if err != nil {
		return t.trouble(c.Store, err)
	}
	return errors.Join(c.restore(t, file), file.Close())
}

func (c *restoreCommand) restore(t *terminal, file *backup.File) error {
	latest, err := sqlstore.LatestSchema()
	if err != nil {
		return err
	}
	if file.Schema > latest {
		return fmt.Errorf("%s is of schema version %d, and this program knows versions up to %d: use a newer galley", c.File, file.Schema, latest)
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
	_ = bar.Finish() // only to be looked at
	if err = errors.Join(t.trouble(c.Store, err), store.Close()); err != nil {
		return err
	}
	t.printf("Restored %s rows from %s, made %s on %s, in %s. Keys work as they did then.\n",
		amount(file.Rows()), c.File, file.CreatedAt.Format(time.RFC3339), file.Engine, seconds(time.Since(start)))
	return nil
}
