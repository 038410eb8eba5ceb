//go:build linux || darwin

package cli

import (
	"errors"
	"os"
	"syscall"
)

// noFollow refuses to open a symbolic link.
const noFollow = syscall.O_NOFOLLOW

// holdAlone locks a file until it is closed, where the file system can.
func holdAlone(file *os.File) error {
	switch err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); {
	case errors.Is(err, syscall.EWOULDBLOCK):
		return err
	case err != nil:
		return nil //nolint:nilerr // some network file systems can't
	}
	// The last holder may have renamed it.
	ours, err := file.Stat()
	if err != nil {
		return err
	}
	named, err := os.Stat(file.Name())
	if err != nil {
		return err
	}
	if !os.SameFile(ours, named) {
		return errors.New("it has just finished")
	}
	return nil
}

// diskSpace returns the free space for ordinary users and the size of a folder's
// disk, in bytes.
func diskSpace(folder string) (free, all uint64, err error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(folder, &s); err != nil {
		return 0, 0, err
	}
	return s.Bavail * uint64(s.Bsize), s.Blocks * uint64(s.Bsize), nil
}
