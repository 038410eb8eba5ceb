# Everything a contributor runs. 'make' alone prints this help.

.DEFAULT_GOAL := help
SHELL := /bin/bash
TEMPL := go tool -modfile=tools/go.mod templ
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
deps: ## Find or install what the tests need: PostgreSQL, Redis, proxies, Chromium and Node.js
	@tools/deps.sh

.PHONY: test
test: deps ## Run all tests, on both database engines
	go test -timeout 30m ./...
	go -C sdk/go test ./...
	cd sdk/typescript && npm test

.PHONY: check
check: generated lint test torture-short ## What CI runs: generated files fresh, lint, all tests, short torture

.PHONY: lines
lines: ## Count the lines of Go, in all and by package
	@tools/lines.sh

.PHONY: lint
lint: ## Run the linters (the first run builds them, some minutes)
	go vet ./...
	go -C sdk/go vet ./...
	$(LINT) run ./...

.PHONY: generate
generate: ## Write the interface document, the Go of the console's components and the types of the TypeScript client
	$(TEMPL) generate -path internal/console
	go run ./cmd/galley openapi > api/openapi.json
	@if [ -d sdk/typescript/node_modules ]; then cd sdk/typescript && npm run --silent generate; \
	else echo "sdk/typescript/src/schema.ts was not renewed: run 'make deps', then this again"; fi

.PHONY: console-assets
console-assets: ## Copy the files of other projects that the console embeds, from npm
	tools/console-assets.sh

.PHONY: generated
generated: ## Fail when api/openapi.json, the console's components or the formatting is stale
	@tools/generated.sh
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
	$(MAKE) fuzz FUZZTIME=1000000x FUZZ="./internal/cms ./internal/backup"

FUZZ ?= ./internal/cms ./internal/httpapi ./internal/backup

.PHONY: race
race: deps ## Run all tests with the race detector (needs a C compiler)
	CGO_ENABLED=1 go test -race -timeout 30m ./...

.PHONY: bench-build
bench-build: build
	CGO_ENABLED=0 go build -trimpath -o bin/bench ./bench
	cd bench/pocketbase && CGO_ENABLED=0 GOTOOLCHAIN=auto go build -trimpath -o ../../bin/bench-pocketbase .

.PHONY: bench
bench: deps bench-build ## Measure Galley, PocketBase and the bare limit side by side (half an hour)
	bin/bench

.PHONY: bench-quick
bench-quick: bench-build ## The same in under two minutes: a few operations, on SQLite alone
	bin/bench --quick

GROWTH ?= 1000000

.PHONY: bench-growth
bench-growth: deps bench-build ## Measure how costs grow up to GROWTH pages (default 1000000) and 50 locales (an hour)
	bin/bench --growth --growth-max $(GROWTH)

COUNT ?= 1

.PHONY: bench-micro
bench-micro: deps ## Run the hot paths' benchmarks, with allocations
	go test -run '^$$' -bench '^Benchmark(Get|List|Create|Update|Batch)' -benchmem -count $(COUNT) ./internal/bench

.PHONY: torture
torture: torture-deps ## Kill, flood and starve the server; RUN='kill-sqlite' picks runs (docs/torture.md)
	go run ./torture $(RUN)

.PHONY: torture-short
torture-short: torture-deps ## The short forms of the same, in under three minutes
	go run ./torture --short $(RUN)

.PHONY: torture-deps
torture-deps:
	@tools/deps.sh torture
