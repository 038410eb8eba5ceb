#!/usr/bin/env bash
# Copies the files of other projects that the console embeds, in the versions named
# here, from npm. The copies are committed; internal/console/assets_test.go has their
# hashes.
set -euo pipefail
cd "$(dirname "$0")/.."
to=internal/console/assets
tests=internal/console/browsertest/testdata
icons="arrow-down arrow-right arrow-up bell ban calendar-clock check chevron-down chevron-left chevron-right chevrons-up-down
circle-help clock copy corner-down-right download ellipsis external-link eye file-text git-compare globe history info key-round
languages layers link list list-tree log-out message-square monitor moon pencil play plus power power-off radio refresh-cw
replace rotate-ccw scroll-text search server settings shield signpost split sun tag trash-2 triangle-alert undo-2 user webhook x"

from=$(mktemp -d)
trap 'rm -rf "$from"' EXIT
npm --prefix "$from" install --ignore-scripts --no-audit --no-fund --loglevel=error \
	htmx.org@4.0.1 lucide-static@1.62.0 @fontsource-variable/inter@5.3.0 @fontsource-variable/geist-mono@5.3.0 axe-core@4.14.0
from=$from/node_modules
mkdir -p $to/fonts $tests
cp "$from/htmx.org/dist/htmx.min.js" $to/
cp "$from/@fontsource-variable/inter/files/inter-latin-wght-normal.woff2" $to/fonts/inter.woff2
cp "$from/@fontsource-variable/geist-mono/files/geist-mono-latin-wght-normal.woff2" $to/fonts/geist-mono.woff2
gzip -9 -n -c "$from/axe-core/axe.min.js" >$tests/axe.min.js.gz
{
	echo '<svg xmlns="http://www.w3.org/2000/svg">'
	for icon in $icons; do
		# The shapes alone: colours and strokes are the style sheet's.
		printf '<symbol id="%s" viewBox="0 0 24 24">%s</symbol>\n' "$icon" \
			"$(sed -e 's/<!--.*-->//' "$from/lucide-static/icons/$icon.svg" | tr '\n' ' ' | sed -E 's/.*<svg[^>]*>(.*)<\/svg>.*/\1/; s/ +/ /g; s/^ | $//g')"
	done
	cat <<'STATES'
<symbol id="s-live" viewBox="0 0 10 10"><circle cx="5" cy="5" r="4" fill="currentColor" stroke="none"/></symbol>
<symbol id="s-changed" viewBox="0 0 10 10"><circle cx="5" cy="5" r="3.75" fill="none" stroke="currentColor" stroke-width="1.5"/><path d="M5 1.2a3.8 3.8 0 0 1 0 7.6z" fill="currentColor" stroke="none"/></symbol>
<symbol id="s-new" viewBox="0 0 10 10"><circle cx="5" cy="5" r="3.75" fill="none" stroke="currentColor" stroke-width="1.5" stroke-dasharray="2.2 1.7"/></symbol>
<symbol id="s-off" viewBox="0 0 10 10"><circle cx="5" cy="5" r="3.75" fill="none" stroke="currentColor" stroke-width="1.5"/><path d="m2.4 7.6 5.2-5.2" stroke="currentColor" stroke-width="1.5"/></symbol>
<symbol id="s-gone" viewBox="0 0 10 10"><path d="m2 2 6 6M8 2 2 8" stroke="currentColor" stroke-width="1.7" stroke-linecap="round"/></symbol>
</svg>
STATES
} >$to/icons.svg
{
	echo "The console embeds files of these projects."
	for package in htmx.org lucide-static @fontsource-variable/inter @fontsource-variable/geist-mono; do
		printf '\n%s\n\n' "== $package $(sed -n 's/^ *"version": "\(.*\)",*/\1/p' "$from/$package/package.json")"
		cat "$from/$package/LICENSE"
	done
} >$to/licenses.txt
sha256sum $to/htmx.min.js $to/icons.svg $to/fonts/* $tests/axe.min.js.gz
