# Everything a contributor runs. 'make' alone prints this help.

.DEFAULT_GOAL := help
SHELL := /bin/bash
LINT := go tool -modfile=tools/go.mod golangci-lint

.PHONY: help
help: ## Print this help
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  \033[1m%-12s\033[0m %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: run
run: ## Start the service on the embedded database
	go run ./cmd/galley serve

.PHONY: build
build: ## Build bin/galley
	CGO_ENABLED=0 go build -trimpath -o bin/galley ./cmd/galley

.PHONY: deps
deps: ## Find or install what the tests need: PostgreSQL, Redis and Chromium
	@tools/deps.sh

.PHONY: test
test: deps ## Run all tests, on both database engines
	go test -timeout 15m ./...

.PHONY: check
check: generated lint test ## What CI runs: generated files fresh, lint, all tests

.PHONY: lint
lint: ## Run the linters (the first run builds them, some minutes)
	go vet ./...
	$(LINT) run ./...

.PHONY: generate
generate: ## Write the interface document to api/openapi.json
	go run ./cmd/galley openapi > api/openapi.json

.PHONY: generated
generated: ## Fail when api/openapi.json or the formatting is stale
	@diff -u api/openapi.json <(go run ./cmd/galley openapi) > /dev/null || { echo "api/openapi.json is stale: run 'make generate'"; exit 1; }
	@test -z "$$(gofmt -l .)" || { echo "not formatted:"; gofmt -l .; exit 1; }

FUZZTIME ?= 30s

.PHONY: fuzz
fuzz: ## Run every fuzz target for FUZZTIME (default 30s; 1000000x runs a million inputs)
	@set -e; for package in $(FUZZ); do \
		for target in $$(go test -list '^Fuzz' $$package | grep '^Fuzz'); do \
			echo "== $$package $$target"; \
			go test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) $$package; \
		done; \
	done

.PHONY: mutants
mutants: ## Try a million changed inputs on each target of the REST edge, and on each parser
	go test -timeout 2h -run TestMutants -mutants 1000000 ./internal/httpapi
	$(MAKE) fuzz FUZZTIME=1000000x FUZZ=./internal/cms

FUZZ ?= ./internal/cms ./internal/httpapi

.PHONY: race
race: deps ## Run all tests with the race detector (needs a C compiler)
	CGO_ENABLED=1 go test -race -timeout 30m ./...

.PHONY: bench
bench: deps ## Measure the hot paths on both engines
	go test -run '^$$' -bench '^Benchmark(Get|List|Create|Update|Batch)' -benchmem ./bench
	go test -run '^$$' -bench '^BenchmarkBig' -benchtime 1x -timeout 30m ./bench

.PHONY: bench-quick
bench-quick: ## Measure the hot paths on SQLite, in under two minutes
	go test -run '^$$' -bench '(Get|List|Create|Update|Batch)/sqlite' -benchtime 1s -benchmem ./bench

.PHONY: torture
torture: ## Kill the server under load, again and again
	go test -timeout 30m -count 10 -v -run 'Kill' ./cmd/galley
