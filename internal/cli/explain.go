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
	"galley/internal/sqlstore"
)

// explain says what keeps a store from working, to those who can do something
// about it. Other errors stay what they are.
func explain(c config.Store, err error) error {
	switch {
	case sqlstore.Damaged(err):
		return fmt.Errorf("%s is damaged, or no database: put the folder aside, and restore the last backup (%w)",
			filepath.Join(c.Data, sqlstore.DatabaseFile), err)
	case sqlstore.Denied(err):
		refusal, _ := sqlstore.Refusal(err)
		return fmt.Errorf("the database's user may not do that: let it own the database, with 'alter database NAME owner to USER' (%s)", refusal)
	}
	away, ok := errors.AsType[*cms.Error](err)
	if !ok || away.Code != cms.CodeUnavailable {
		return err
	}
	if c.DatabaseURL == "" {
		return fmt.Errorf("the store in %s can't be used: %w", c.Data, cmp.Or(tryFolder(c.Data), errors.Unwrap(away)))
	}
	if refusal, ok := sqlstore.Refusal(err); ok {
		return fmt.Errorf("the database can't do it: %s", refusal)
	}
	// The driver tells whom it tried to reach, and in a line each why in vain.
	reason := strings.TrimSpace(errors.Unwrap(away).Error())
	reason = strings.TrimSpace(reason[strings.LastIndexByte(reason, '\n')+1:])
	return fmt.Errorf("the database does not answer: check its URL and that PostgreSQL runs (%s)", reason)
}

// tryFolder makes a file beside the database, for a moment: why that fails is
// told more plainly than by SQLite.
func tryFolder(dir string) error {
	file, err := os.CreateTemp(dir, "try-*")
	if err != nil {
		return fmt.Errorf("the folder can't be written: %w", err)
	}
	return errors.Join(file.Close(), os.Remove(file.Name()))
}
