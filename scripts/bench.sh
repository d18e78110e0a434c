#!/usr/bin/env bash
# usage: scripts/bench.sh [OPTION...]     (options of campanile-bench, such as --quick)
# Measures the release build beside a bare server and beside other queues, on SQLite and on a
# PostgreSQL that waits for the disk.
set -euo pipefail

cd "$(dirname "$0")/.."
command -v wrk >/dev/null || scripts/install.sh wrk

if ! scripts/postgres.sh status --durable >/dev/null 2>&1; then
    trap 'scripts/postgres.sh stop --durable' EXIT
fi
CAMPANILE_BENCH_POSTGRES=$(scripts/postgres.sh start --durable | tail -n 1)
export CAMPANILE_BENCH_POSTGRES

# Much can be measured without them.
if CAMPANILE_BENCH_RIVALS=$(scripts/rivals.sh | tail -n 1); then
    export CAMPANILE_BENCH_RIVALS
else
    unset CAMPANILE_BENCH_RIVALS
fi

cargo build --release --locked -p campanile
cargo run --release --locked -p campanile-bench -- "$@"
