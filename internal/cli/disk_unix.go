//go:build linux || darwin

package cli

import (
	"errors"
	"os"
	"syscall"
)

// noFollow refuses to open a symbolic link.
const noFollow = syscall.O_NOFOLLOW

// lockFile locks a file until it is closed, if the file system supports it.
func lockFile(file *os.File) error {
	switch err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); {
	case errors.Is(err, syscall.EWOULDBLOCK):
		return err
	case err != nil:
		return nil //nolint:nilerr // some network file systems don't support locks
	}
	// The last holder may have renamed the file.
	ours, err := file.Stat()
	named, failed := os.Stat(file.Name())
	if err = errors.Join(err, failed); err == nil && !os.SameFile(ours, named) {
		err = errors.New("it has just finished")
	}
	return err
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
