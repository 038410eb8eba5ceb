//go:build linux || darwin

package cli

import (
	"errors"
	"os"
	"syscall"
)

// noFollow refuses to open what a link leads to.
const noFollow = syscall.O_NOFOLLOW

// holdAlone keeps a file to this process until it is closed, where its disk can.
func holdAlone(file *os.File) error {
	switch err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); {
	case errors.Is(err, syscall.EWOULDBLOCK):
		return err
	case err != nil:
		return nil //nolint:nilerr // some disks of other machines can't
	}
	// Whoever held it last may have given it another name.
	ours, err := file.Stat()
	if err != nil {
		return err
	}
	named, err := os.Stat(file.Name())
	if err != nil {
		return err
	}
	if !os.SameFile(ours, named) {
		return errors.New("it has just ended")
	}
	return nil
}

// diskSpace is what a folder's disk has, for those who are not root, and in all.
func diskSpace(folder string) (free, all uint64, err error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(folder, &s); err != nil {
		return 0, 0, err
	}
	return s.Bavail * uint64(s.Bsize), s.Blocks * uint64(s.Bsize), nil
}
