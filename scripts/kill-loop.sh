#!/usr/bin/env bash
# usage: scripts/kill-loop.sh [--on-postgres] [OPTION...]     (options of kill-loop, such as --kills 200)
#        scripts/kill-loop.sh --flaws [OPTION...]
#        scripts/kill-loop.sh --suite
# Kills the release build again and again while posts go out, and checks that none was lost or
# doubled; on PostgreSQL with two processes that publish. With --flaws it shows instead that the
# check notices bugs planted for it. --suite is the short form of it all, for `make test`.
set -euo pipefail

cd "$(dirname "$0")/.."
built=${CARGO_TARGET_DIR:-target}/release

# Sets `postgres`. A server that somebody else started stays.
start_postgres() {
    scripts/postgres.sh status >/dev/null 2>&1 || trap 'scripts/postgres.sh stop' EXIT
    postgres=$(scripts/postgres.sh start | tail -n 1)
}

# The service as it is released, same profile and same code, and beside its platforms one more,
# for the class that none of them stands for yet. It goes by another name, so that nobody takes
# it for the release. The loop is built along with it because they share their dependencies.
build() {
    cargo build --release --locked -p campanile -p campanile-trial --features "$2"
    # Without a change both names are links to one file, which mv refuses to move.
    rm -f "$built/$1"
    mv "$built/campanile" "$built/$1"
}

build_tried() { build campanile-tried campanile/trial; }

# A build of its own: what the loop vouches for has no bugs in it that a variable could wake.
build_flawed() { build campanile-flawed campanile/trial,campanile/flaws; }

# Each ends as soon as the bug shows. Few accounts and many clients make the posts meet.
flaws() {
    for flaw in intent-after-call retry-on-timeout no-fencing; do
        "$built/kill-loop" --kills 200 --clients 40 --accounts 2 --flaw "$flaw" "$@"
    done
}

# All at once, as the loops mostly wait; what each printed is shown when it has ended.
suite() {
    local folder name failed=0 loop=$built/kill-loop-tried
    local -A running
    folder=$(mktemp -d)
    # The next build replaces the program under the feet of those who run it.
    cp "$built/kill-loop" "$loop"
    "$loop" --kills 200 --patience 120 >"$folder/sqlite" 2>&1 &
    running[sqlite]=$!
    "$loop" --kills 60 --patience 180 --postgres "$postgres" >"$folder/postgres" 2>&1 &
    running[postgres]=$!
    { build_flawed; flaws; } >"$folder/flaws" 2>&1 &
    running[flaws]=$!
    for name in "${!running[@]}"; do
        wait "${running[$name]}" || failed=1
        echo
        echo "kill loop: $name"
        cat "$folder/$name"
    done
    rm -r "$folder"
    return $failed
}

case ${1:-} in
--suite)
    start_postgres
    build_tried
    suite
    ;;
--flaws)
    shift
    build_flawed
    flaws "$@"
    ;;
--on-postgres)
    shift
    start_postgres
    build_tried
    "$built/kill-loop" --postgres "$postgres" "$@"
    ;;
*)
    build_tried
    "$built/kill-loop" "$@"
    ;;
esac
