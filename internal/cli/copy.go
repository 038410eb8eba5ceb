package cli

import (
	"errors"
	"regexp"
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
	if err := errors.Join(checkName(c.From), checkName(c.To)); err != nil {
		return err
	}
	from, err := openExisting(storeAt(c.From))
	if err != nil {
		return err
	}
	return errors.Join(c.copyFrom(t, from), from.Close())
}

func (c *copyCommand) copyFrom(t *terminal, from *sqlstore.Store) error {
	start, rows := time.Now(), int64(0)
	var told error // of what went wrong once both were open
	err := from.Snapshot(t.ctx, func(s *sqlstore.Snapshot) error {
		to, err := openStore(storeAt(c.To), nil)
		if err != nil {
			return err
		}
		at := storeAt(c.To)
		err = to.Load(t.ctx, s.Schema, func(sink sqlstore.Sink) error {
			filled := &noted{Sink: sink}
			n, err := dump(t, "Copying", s, filled)
			if err != nil && filled.err == nil {
				at = storeAt(c.From)
			}
			rows = n
			return err
		})
		told = errors.Join(t.trouble(at, err), to.Close())
		return told
	})
	switch {
	case told != nil:
		return told
	case err != nil:
		return t.trouble(storeAt(c.From), err)
	}
	t.printf("Copied %s rows in %s. Keys work as they did.\n", amount(rows), seconds(time.Since(start)))
	return nil
}

// noted is a sink that knows whether it failed.
type noted struct {
	sqlstore.Sink
	err error
}

func (n *noted) Table(name string, columns []string) error {
	n.err = n.Sink.Table(name, columns)
	return n.err
}

func (n *noted) Row(values []any) error {
	n.err = n.Sink.Row(values)
	return n.err
}

// storeAt is the store that a folder or a URL names.
func storeAt(where string) config.Store {
	if strings.Contains(where, "://") {
		return config.Store{DatabaseURL: where}
	}
	return config.Store{Data: where}
}

// connectionString is the other way to name a PostgreSQL database, which would
// make a strange folder.
var connectionString = regexp.MustCompile(`^\s*[a-z_]+\s*=`)

// checkName refuses what is likely meant to be the URL of a database.
func checkName(where string) error {
	if connectionString.MatchString(where) {
		return errors.New("write a PostgreSQL database as postgres://USER:PASSWORD@HOST/NAME, and a folder of such a name with ./ before it")
	}
	return nil
}
