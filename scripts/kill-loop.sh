#!/usr/bin/env bash
# usage: scripts/kill-loop.sh [--on-postgres] [OPTION...]     (options of kill-loop, such as --kills 200)
#        scripts/kill-loop.sh --flaws [--on-postgres] [OPTION...]
# Kills the release build again and again while posts go out, and checks that none was lost or
# doubled; on PostgreSQL with two processes that publish. With --flaws it shows instead that the
# check notices bugs planted for it.
set -euo pipefail

cd "$(dirname "$0")/.."
built=${CARGO_TARGET_DIR:-target}/release
where=()
flaws=()
while :; do
    case ${1:-} in
    --on-postgres)
        # What somebody else started stays.
        scripts/postgres.sh status >/dev/null 2>&1 || trap 'scripts/postgres.sh stop' EXIT
        where=(--postgres "$(scripts/postgres.sh start | tail -n 1)")
        ;;
    --flaws) flaws=(intent-after-call retry-on-timeout no-fencing) ;;
    *) break ;;
    esac
    shift
done

# The service as it is released, same profile and same code, and beside its platforms one more,
# for the class that none of them stands for yet. It goes by another name, so that nobody takes
# it for the release. The loop is built along with it because they share their dependencies.
build() {
    cargo build --release --locked -p campanile -p campanile-trial --features "$2"
    mv "$built/campanile" "$built/$1"
}

if [ ${#flaws[@]} -eq 0 ]; then
    build campanile-tried campanile/trial
    "$built/kill-loop" "${where[@]}" "$@"
    exit
fi

# A build of its own: what the loop vouches for has no bugs in it that a variable could wake.
build campanile-flawed campanile/trial,campanile/flaws
for flaw in "${flaws[@]}"; do
    "$built/kill-loop" "${where[@]}" --kills 200 --clients 40 --accounts 2 --flaw "$flaw" "$@"
done
