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

// explain turns an error of a store into one that says what to do about it.
// Other errors are returned as they are.
func explain(c config.Store, err error) error {
	switch {
	case sqlstore.Damaged(err):
		return fmt.Errorf("%s is damaged or not a database: move the folder away and restore the last backup (%w)",
			filepath.Join(c.Data, sqlstore.DatabaseFile), err)
	case sqlstore.Denied(err):
		refusal, _ := sqlstore.Refusal(err)
		return fmt.Errorf("permission denied by the database: make its user the owner with 'alter database NAME owner to USER' (%s)", refusal)
	}
	away, ok := errors.AsType[*cms.Error](err)
	if !ok || away.Code != cms.CodeUnavailable {
		return err
	}
	if c.DatabaseURL == "" {
		return fmt.Errorf("the store in %s can't be used: %w", c.Data, cmp.Or(tryFolder(c.Data), errors.Unwrap(away)))
	}
	if refusal, ok := sqlstore.Refusal(err); ok {
		return fmt.Errorf("the database refused: %s", refusal)
	}
	// The driver lists every address that it tried; the last line has the reason.
	reason := strings.TrimSpace(errors.Unwrap(away).Error())
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
