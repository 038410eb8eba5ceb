package main

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// bare is the limit of reads: a net/http server that compares a key and writes
// an answer of Galley's that it was given. Nothing that answers over net/http
// costs less.
type bare struct {
	folder  string // of the answers, one file an operation
	model   *galley
	address string
	server  *server
}

const bareKey = "sk_8rXv2mQkTz5yLbNc7dHfJw3pGsAe9uKx4tRoVqBn6iM"

func (b *bare) name() string           { return bareLimit }
func (b *bare) does(op operation) bool { return op.isRead() }
func (b *bare) service() []int         { return []int{b.server.pid()} }
func (b *bare) database() []int        { return nil }

func (b *bare) start(ctx context.Context) error {
	var err error
	if b.address, err = freeAddress(ctx); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(b.folder, 0o700); err != nil {
		return err
	}
	if b.server, err = launch(program(self, "serve-bare", b.address, b.folder), nil); err != nil {
		return err
	}
	return b.server.waitUntil(ctx, func() bool { return listens(ctx, b.address) })
}

// load asks Galley for the answers to give.
func (b *bare) load(ctx context.Context, _ dataset) error {
	for i, op := range operations {
		if !b.does(op) {
			continue
		}
		answer, err := b.model.sample(ctx, op)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(b.folder, strconv.Itoa(i)), answer, 0o600); err != nil {
			return err
		}
	}
	return nil
}

func (b *bare) stop() error { return b.server.stop(syscall.SIGTERM) }

func (b *bare) driver(op operation) (driver, error) {
	target := "/" + strconv.Itoa(indexOf(op))
	headers := "x-api-key: " + bareKey + "\r\n"
	return newGenerator(b.address, op.connections(), http.StatusOK, func(dst []byte, _ *rand.Rand) ([]byte, string) {
		return request(dst, "GET", target, headers, ""), `"object"`
	})
}

// indexOf is the place of an operation among all.
func indexOf(op operation) int {
	for i, other := range operations {
		if other.name == op.name {
			return i
		}
	}
	return -1
}

// serveBare is the server's own process.
func serveBare(address, folder string) error {
	files, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	for _, file := range files {
		body, err := os.ReadFile(filepath.Join(folder, file.Name()))
		if err != nil {
			return err
		}
		mux.HandleFunc("GET /"+file.Name(), func(w http.ResponseWriter, r *http.Request) {
			if subtle.ConstantTimeCompare([]byte(r.Header.Get("x-api-key")), []byte(bareKey)) != 1 {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", strconv.Itoa(len(body)))
			_, _ = w.Write(body) // whoever has gone away needs no answer
		})
	}
	err = http.ListenAndServe(address, mux)
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("bare: %w", err)
}
