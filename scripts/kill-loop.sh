#!/usr/bin/env bash
# usage: scripts/kill-loop.sh [--on-postgres] [OPTION...]     (options of kill-loop, such as --kills 200)
#        scripts/kill-loop.sh --flaws [OPTION...]
# Kills the release build again and again while posts go out, and checks that none was lost or
# doubled. With --flaws it shows instead that the check notices bugs planted for it.
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

if [ ${#flaws[@]} -gt 0 ]; then
    # Both builds have the same name, so the flawed one moves away before anybody else uses it.
    cargo build --release --locked -p campanile --features flaws
    mv "$built/campanile" "$built/campanile-flawed"
fi
cargo build --release --locked -p campanile
cargo build --release --locked -p campanile-trial

for flaw in "${flaws[@]}"; do
    "$built/kill-loop" "${where[@]}" --kills 120 --clients 40 --accounts 2 --flaw "$flaw" "$@"
done
[ ${#flaws[@]} -gt 0 ] || "$built/kill-loop" "${where[@]}" "$@"
