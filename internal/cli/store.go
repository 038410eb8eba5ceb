package cli

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"galley/internal/cms"
	"galley/internal/config"
	"galley/internal/httpapi"
	"galley/internal/service"
	"galley/internal/sqlstore"
)

// openStore opens the store of a command. It creates a SQLite database only if
// create is set.
func openStore(c config.Store, create bool, observe sqlstore.Observe) (*sqlstore.Store, error) {
	if c.DatabaseURL != "" {
		return sqlstore.OpenPostgres(c.DatabaseURL, observe)
	}
	if c.Data == "" { // it would be the current folder
		return nil, errors.New("the name of the store is empty: pass a folder or the URL of a database")
	}
	switch _, err := os.Stat(filepath.Join(c.Data, sqlstore.DatabaseFile)); {
	case create || err == nil:
		return sqlstore.OpenSQLite(c.Data, observe)
	case errors.Is(err, os.ErrNotExist):
		return nil, fmt.Errorf("there is no store in %s: pass the folder of a store, or the URL of a database (%w)", c.Data, err)
	default:
		return nil, fmt.Errorf("can't read the store in %s: %w", c.Data, err)
	}
}

// withStore runs work on a store and closes it.
func withStore(c config.Store, create bool, work func(*sqlstore.Store) error) error {
	store, err := openStore(c, create, nil)
	if err != nil {
		return err
	}
	return errors.Join(work(store), store.Close())
}

// withService runs work on the migrated store of a command. A store that does not
// exist is created if create is set, and refused otherwise.
func withService(t *terminal, c config.Store, create bool, work func(*service.Service) error) error {
	return withStore(c, create, func(store *sqlstore.Store) error {
		isNew, err := store.IsNew(t.ctx)
		switch {
		case err != nil:
			return explain(c, err)
		case isNew && !create:
			return errors.New("there is no store yet: create one with 'galley serve' or 'galley migrate'")
		case isNew:
			_, _ = fmt.Fprintln(t.err, "galley: there was no store yet, created a new one; check that the server uses it too")
		}
		_, err = store.Migrate(t.ctx)
		if err == nil {
			err = work(service.New(store, now, httpapi.AuditState))
		}
		return explain(c, err)
	})
}

type migrateCommand struct{ config.Store }

func (c *migrateCommand) Run(t *terminal) error {
	return withStore(c.Store, true, func(store *sqlstore.Store) error {
		versions, err := store.Migrate(t.ctx)
		if err != nil {
			return explain(c.Store, err)
		}
		if len(versions) == 0 {
			t.printf("The schema is up to date.\n")
		}
		for _, v := range versions {
			t.printf("Applied schema version %d.\n", v)
		}
		return nil
	})
}

// explain adds what to do about an error of a store. It returns other errors as
// they are.
func explain(c config.Store, err error) error {
	refusal, refused := sqlstore.Refusal(err)
	unavailable, ok := errors.AsType[*cms.Error](err)
	switch {
	case sqlstore.Damaged(err):
		return fmt.Errorf("%s is damaged or not a database: move the folder away and restore the last backup (%w)",
			filepath.Join(c.Data, sqlstore.DatabaseFile), err)
	case sqlstore.Denied(err):
		return fmt.Errorf("permission denied by the database: make its user the owner with 'alter database NAME owner to USER' (%s)", refusal)
	case !ok || unavailable.Code != cms.CodeUnavailable:
		return err
	case c.DatabaseURL == "":
		return fmt.Errorf("the store in %s can't be used: %w", c.Data, cmp.Or(tryFolder(c.Data), errors.Unwrap(unavailable)))
	case refused:
		return fmt.Errorf("the database refused: %s", refusal)
	}
	// The driver lists every address that it tried; the last line has the reason.
	reason := strings.TrimSpace(errors.Unwrap(unavailable).Error())
	reason = strings.TrimSpace(reason[strings.LastIndexByte(reason, '\n')+1:])
	return fmt.Errorf("can't reach the database: check its URL and that PostgreSQL runs (%s)", reason)
}

// tryFolder creates and removes a file beside the database: its error is clearer
// than SQLite's.
func tryFolder(dir string) error {
	file, err := os.CreateTemp(dir, "try-*")
	if err != nil {
		return fmt.Errorf("the folder is not writable: %w", err)
	}
	return errors.Join(file.Close(), os.Remove(file.Name()))
}

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
