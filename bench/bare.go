package main

import (
	"context"
	"crypto/subtle"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// bare is the limit of reads: a net/http server that compares a key and writes
// a copied response of Galley's. No net/http server costs less.
type bare struct {
	service
	folder string // of the responses, one file an operation
	model  *galley
}

const bareKey = "sk_8rXv2mQkTz5yLbNc7dHfJw3pGsAe9uKx4tRoVqBn6iM"

func (b *bare) does(op operation) bool { return op.isRead() }

func (b *bare) start(ctx context.Context) {
	b.address = freeAddress(ctx)
	check(os.MkdirAll(b.folder, 0o700))
	b.run(ctx, nil, nil, must(os.Executable()), "serve-bare", b.address, b.folder)
}

// load requests the responses from Galley.
func (b *bare) load(ctx context.Context, _ dataset) {
	for i, op := range operations {
		if b.does(op) {
			check(os.WriteFile(filepath.Join(b.folder, strconv.Itoa(i)), b.model.sample(ctx, op), 0o600))
		}
	}
}

func (b *bare) headers() string { return "x-api-key: " + bareKey + "\r\n" }

func (b *bare) builder(op operation) (builder, int) {
	target := "/" + strconv.Itoa(slices.Index(operations, op))
	return func(*rand.Rand) request { return request{"GET", target, "", `"object"`} }, http.StatusOK
}

// serveBare is the server's own process.
func serveBare(address, folder string) {
	mux := http.NewServeMux()
	for _, file := range must(os.ReadDir(folder)) {
		body := must(os.ReadFile(filepath.Join(folder, file.Name())))
		mux.HandleFunc("GET /"+file.Name(), func(w http.ResponseWriter, r *http.Request) {
			if subtle.ConstantTimeCompare([]byte(r.Header.Get("x-api-key")), []byte(bareKey)) != 1 {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", strconv.Itoa(len(body)))
			_, _ = w.Write(body) // the client may have gone away
		})
	}
	check(fmt.Errorf("bare: %w", http.ListenAndServe(address, mux)))
}
