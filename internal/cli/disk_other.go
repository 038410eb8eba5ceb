//go:build !linux && !darwin

package cli

import (
	"errors"
	"os"
)

// noFollow is not known here.
const noFollow = 0

// holdAlone is not known here: two backups to one file have to be avoided.
func holdAlone(*os.File) error { return nil }

// diskSpace is not known here.
func diskSpace(string) (free, all uint64, err error) { return 0, 0, errors.ErrUnsupported }
