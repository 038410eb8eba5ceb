package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"galley/internal/config"
	"galley/internal/sqlstore"
)

// writeFile writes to a temporary file and renames it, so that a file with the
// final name is always complete.
func (c *backupCommand) writeFile(t *terminal, write func(io.Writer) error) error {
	if c.File == toStdout {
		return write(t.out)
	}
	name := resolveLinks(c.File)
	if isStoreFile(c.Store, name) {
		return fmt.Errorf("%s is a file of the store itself: choose another name for the backup", c.File)
	}
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		return writeDevice(name, info, write)
	}
	folder, err := os.Open(filepath.Dir(name))
	if err != nil {
		return fmt.Errorf("can't write the backup: %w", err)
	}
	defer func() { _ = folder.Close() }() // it is only synced
	partial := name + ".partial"
	file, err := os.OpenFile(partial, os.O_WRONLY|os.O_CREATE|noFollow, 0o600)
	if err != nil {
		return fmt.Errorf("can't write the backup: %w", err)
	}
	if err := lockFile(file); err != nil {
		return errors.Join(fmt.Errorf("another backup is writing to %s (%w)", partial, err), file.Close())
	}
	if err = fill(file, write); err == nil {
		err = os.Rename(partial, name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(partial), file.Close())
	}
	return errors.Join(folder.Sync(), file.Close()) // releases the lock
}

// isStoreFile reports whether a name is that of one of the store's SQLite files,
// whether or not it exists.
func isStoreFile(c config.Store, name string) bool {
	if c.DatabaseURL != "" {
		return false
	}
	database := resolveLinks(filepath.Join(c.Data, sqlstore.DatabaseFile))
	for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
		own := database + suffix
		if sameFile(name, own) || filepath.Base(name) == filepath.Base(own) && sameFile(filepath.Dir(name), filepath.Dir(own)) {
			return true
		}
	}
	return false
}

// sameFile reports whether two names refer to one existing file or folder.
func sameFile(one, two string) bool {
	first, err := os.Stat(one)
	if err != nil {
		return false
	}
	second, err := os.Stat(two)
	return err == nil && os.SameFile(first, second)
}

// maxLinks is the limit on symbolic links, as on Linux.
const maxLinks = 40

// resolveLinks resolves symbolic links, also if their target does not exist.
func resolveLinks(name string) string {
	if target, err := filepath.EvalSymlinks(name); err == nil {
		return target
	}
	if _, err := os.Stat(name); err == nil {
		return name // a pipe of this process has no other name
	}
	for range maxLinks {
		target, err := os.Readlink(name)
		if err != nil {
			break
		}
		if !filepath.IsAbs(target) {
			target = filepath.Dir(name) + string(filepath.Separator) + target
		}
		name = target
	}
	return name
}

// writeDevice writes to a file that can't be replaced, such as a pipe or
// /dev/stdout.
func writeDevice(name string, info os.FileInfo, write func(io.Writer) error) error {
	if info.IsDir() {
		return fmt.Errorf("%s is a folder: add a file name", name)
	}
	device, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("can't write the backup: %w", err)
	}
	return errors.Join(write(device), device.Close())
}

// fill writes and syncs a file, which may be left from a killed backup.
func fill(file *os.File, write func(io.Writer) error) error {
	if err := errors.Join(file.Chmod(0o600), file.Truncate(0)); err != nil {
		return err
	}
	if err := write(file); err != nil {
		return err
	}
	return file.Sync()
}
