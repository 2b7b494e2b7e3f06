#!/bin/sh
# Programs that some tests need, from Debian's packages. `--missing`: its status alone says whether any is missing.
set -eu

# Program: package(s). Servers without the parts that would start one beside those of the tests.
NEEDS="
initdb: postgresql
mariadbd: mariadb-server-core mariadb-client-core
debootstrap: debootstrap
node: nodejs
"
PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin:$(echo /usr/lib/postgresql/*/bin | tr ' ' ':')"

missing() {
    echo "$NEEDS" | while IFS=: read -r program packages; do
        [ -z "$program" ] || command -v "$program" >/dev/null || echo "$packages"
    done
}

packages=$(missing | tr '\n' ' ')
if [ "${1:-}" = --missing ]; then [ -n "$packages" ] || exit 1; exit 0; fi
[ -n "$packages" ] || { echo "services: everything is here"; exit 0; }
command -v apt-get >/dev/null || { echo "services: no apt-get here; install by hand:$packages" >&2; exit 1; }
[ "$(id -u)" = 0 ] || { echo "services: installing needs root; run: sudo make services" >&2; exit 1; }

if [ ! -e /etc/postgresql-common/createcluster.conf ]; then
    mkdir -p /etc/postgresql-common
    echo "create_main_cluster = false" > /etc/postgresql-common/createcluster.conf
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
# shellcheck disable=SC2086  # a list of words
apt-get install -y -qq --no-install-recommends $packages </dev/null >/dev/null
