package cli

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// secretKeyFile is the file in the --data folder that has the key for the secrets of
// webhooks, unless --secret-key has it.
const secretKeyFile = "secret.key"

// secretKeyLength is that of an AES-256 key.
const secretKeyLength = 32

// secretKey returns a function that returns the key that encrypts the secrets of
// webhooks. With SQLite its file is created at the first start, and with PostgreSQL,
// where nodes should share --secret-key, when the first webhook is.
func (c *serveCommand) secretKey() (func() ([]byte, error), error) {
	if c.SecretKey != "" {
		key, err := parseSecretKey(c.SecretKey)
		if err != nil {
			return nil, fmt.Errorf("--secret-key %w", err)
		}
		return func() ([]byte, error) { return key, nil }, nil
	}
	var mu sync.Mutex
	var known []byte
	read := func() (_ []byte, err error) {
		mu.Lock()
		defer mu.Unlock()
		if known == nil {
			known, err = readSecretKey(c.Data)
		}
		return known, err
	}
	if c.DatabaseURL != "" {
		return read, nil
	}
	_, err := read()
	return read, err
}

func parseSecretKey(text string) ([]byte, error) {
	key, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(key) != secretKeyLength {
		return nil, errors.New("must be 32 bytes in base64: create it with 'openssl rand -base64 32'")
	}
	return key, nil
}

// readSecretKey reads the key of a folder, or creates it. Of several programs that do so
// at a time one succeeds, and the others read its key.
func readSecretKey(folder string) ([]byte, error) {
	name := filepath.Join(folder, secretKeyFile)
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		if err := createSecretKey(folder, name); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("can't create the key for the secrets of webhooks: %w", err)
		}
		text, err = os.ReadFile(name)
	}
	if err != nil {
		return nil, fmt.Errorf("can't read the key for the secrets of webhooks: %w", err)
	}
	key, err := parseSecretKey(strings.TrimSpace(string(text)))
	if err != nil {
		return nil, fmt.Errorf("%s %w", name, err)
	}
	return key, nil
}

func createSecretKey(folder, name string) (err error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	key := make([]byte, secretKeyLength)
	_, _ = rand.Read(key) // it never fails
	// A file of another name first: a program that is killed leaves no half of a key.
	file, err := os.CreateTemp(folder, secretKeyFile+"-*") // with mode 0600
	if err != nil {
		return fmt.Errorf("the folder is not writable: %w", err)
	}
	defer func() { err = errors.Join(err, os.Remove(file.Name())) }()
	_, err = file.WriteString(base64.StdEncoding.EncodeToString(key) + "\n")
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	return os.Link(file.Name(), name)
}
