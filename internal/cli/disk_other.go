//go:build !linux && !darwin

package cli

import (
	"errors"
	"os"
)

// noFollow is not available here.
const noFollow = 0

// lockFile is not available here: never write two backups to one file at once.
func lockFile(*os.File) error { return nil }

// diskSpace is not available here.
func diskSpace(string) (free, all uint64, err error) { return 0, 0, errors.ErrUnsupported }
