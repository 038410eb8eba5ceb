#!/usr/bin/env bash
# Fails when the Go of a component of the console is not what its templ file makes.
set -euo pipefail
cd "$(dirname "$0")/.."
fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT
cp internal/console/*.templ "$fresh"
go tool -modfile=tools/go.mod templ generate -path "$fresh" >/dev/null 2>&1
for file in "$fresh"/*_templ.go; do
	cmp -s "$file" "internal/console/$(basename "$file")" || {
		echo "internal/console/$(basename "$file") is stale: run 'make generate'"
		exit 1
	}
done
