#!/bin/sh
# Count lines of Go: the product (cmd and internal without tests and without
# the packages that only tests use), and bench and torture with their tests.
set -eu
cd "$(dirname "$0")/.."

count() { # prints lines per folder, and their sum
	xargs -r wc -l | awk -v title="$1" -v depth="$2" '
		$2 == "total" { next }
		{ n = split($2, part, "/"); room = part[1]; for (i = 2; i < n && i <= depth; i++) room = room "/" part[i]; lines[room] += $1; sum += $1 }
		END {
			for (room in lines) printf "  %7d  %s\n", lines[room], room | "sort -k2"
			close("sort -k2")
			printf "%9d  %s\n\n", sum, title
		}'
}

find cmd internal -name "*.go" ! -name "*_test.go" ! -name "*_templ.go" ! -path "*/testdata/*" |
	grep -vE '^internal/(storetest|modeltest|pgtest|pgserver|bench|archtest)/' |
	count 'cmd and internal, without tests' 2
find bench torture -name '*.go' ! -path 'bench/pocketbase/*' | count 'bench and torture, with tests' 1
