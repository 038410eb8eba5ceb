package cli

import (
	"errors"
	"strings"
	"time"

	"galley/internal/config"
	"galley/internal/sqlstore"
)

type copyCommand struct {
	From string `help:"Store to copy: a data folder, or the URL of a PostgreSQL database." required:"" placeholder:"STORE"`
	To   string `help:"Empty store to fill, named likewise." required:"" placeholder:"STORE"`
}

func (c *copyCommand) Help() string {
	return `What is copied is of one moment. Stop the server first, or what is written to it
later stays behind.

Examples:
  galley copy --from ./galley-data --to postgres://galley@localhost/galley
  galley copy --from postgres://galley@localhost/galley --to ./galley-data`
}

func (c *copyCommand) Run(t *terminal) error {
	from, err := openExisting(storeAt(c.From))
	if err != nil {
		return err
	}
	return errors.Join(c.copyFrom(t, from), from.Close())
}

func (c *copyCommand) copyFrom(t *terminal, from *sqlstore.Store) error {
	start, rows := time.Now(), int64(0)
	err := from.Snapshot(t.ctx, func(s *sqlstore.Snapshot) error {
		to, err := openStore(storeAt(c.To), nil)
		if err != nil {
			return err
		}
		err = to.Load(t.ctx, s.Schema, func(sink sqlstore.Sink) (err error) {
			rows, err = dump(t, "Copying", s, sink)
			return err
		})
		return errors.Join(t.trouble(storeAt(c.To), err), to.Close())
	})
	if err != nil {
		return t.trouble(storeAt(c.From), err)
	}
	t.printf("Copied %s rows in %s. Keys work as they did.\n", amount(rows), seconds(time.Since(start)))
	return nil
}

// storeAt is the store that a folder or a URL names.
func storeAt(where string) config.Store {
	if strings.Contains(where, "://") {
		return config.Store{DatabaseURL: where}
	}
	return config.Store{Data: where}
}
