#!/usr/bin/env bash
# Finds what the tests need, and installs what is missing from Debian's
# packages. It says what it does.
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
need curl curl /usr/bin/curl curl
need xmllint libxml2-utils /usr/bin/xmllint xmllint
need Chromium chromium /usr/bin/chromium chromium
if [ "${1:-}" = torture ]; then
	need strace strace /usr/bin/strace strace
fi

[ ${#missing[@]} -eq 0 ] && exit 0

install="apt-get install -y --no-install-recommends ${missing[*]}"
if ! command -v apt-get >/dev/null; then
	echo "deps: this is no Debian: install ${missing[*]} yourself, then run this again" >&2
	exit 1
fi
if [ "$(id -u)" -eq 0 ]; then
	sudo=
elif command -v sudo >/dev/null; then
	sudo=sudo
else
	echo "deps: as root, run: $install" >&2
	exit 1
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
