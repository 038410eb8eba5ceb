#!/usr/bin/env bash
# Finds what the tests need, and installs what is missing from Debian's
# packages and from npm. It says what it does.
set -euo pipefail

missing=()
need() { # need WHAT PACKAGE PATTERN...: any file that matches will do
	local what=$1 package=$2 found
	shift 2
	found=$(compgen -G "$1" || command -v "${2:-}" || true)
	if [ -n "$found" ]; then
		echo "deps: $what: $(head -n 1 <<<"$found")"
	else
		echo "deps: $what: missing, package $package"
		missing+=("$package")
	fi
}

need PostgreSQL postgresql '/usr/lib/postgresql/*/bin/initdb' initdb
need Redis redis-server /usr/bin/redis-server redis-server
need HAProxy haproxy /usr/sbin/haproxy haproxy
need nginx nginx /usr/sbin/nginx nginx
need PgBouncer pgbouncer /usr/sbin/pgbouncer pgbouncer
need jq jq /usr/bin/jq jq
need curl curl /usr/bin/curl curl
need xmllint libxml2-utils /usr/bin/xmllint xmllint
need Chromium chromium /usr/bin/chromium chromium
need Node.js nodejs /usr/bin/node node
need npm npm /usr/bin/npm npm
if [ "${1:-}" = torture ]; then
	need strace strace /usr/bin/strace strace
fi

install_missing() {
	local install="apt-get install -y --no-install-recommends ${missing[*]}" sudo= service
	if ! command -v apt-get >/dev/null; then
		echo "deps: this is no Debian: install ${missing[*]} yourself, then run this again" >&2
		exit 1
	fi
	if [ "$(id -u)" -ne 0 ]; then
		if ! command -v sudo >/dev/null; then
			echo "deps: as root, run: $install" >&2
			exit 1
		fi
		sudo=sudo
	fi
	echo "deps: $sudo $install"
	export DEBIAN_FRONTEND=noninteractive
	$sudo apt-get update -qq
	$sudo $install >/dev/null
	# The tests start servers of their own; the packages' are not needed, and would
	# take ports. Only those that were not there before are turned off.
	for service in postgresql redis-server haproxy nginx pgbouncer; do
		if [[ " ${missing[*]} " == *" $service "* ]]; then
			echo "deps: turning the service $service off"
			$sudo update-rc.d "$service" disable ||:
			$sudo service "$service" stop >/dev/null || echo "deps: could not stop $service"
		fi
	done
}

if [ ${#missing[@]} -gt 0 ]; then
	install_missing
fi

# The npm packages that tests run. Their lockfiles have the hashes of everything.
cd "$(dirname "$0")/.."
for folder in cmd/galley/testdata/runtime examples/webhooks/node internal/httpapi/testdata/document; do
	if [ $folder/node_modules/.package-lock.json -nt $folder/package-lock.json ]; then
		echo "deps: npm packages: $folder/node_modules"
	else
		echo "deps: npm packages: missing, npm ci in $folder"
		(cd $folder && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error)
	fi
done
