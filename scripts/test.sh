#!/usr/bin/env bash
# usage: scripts/test.sh
# Every test of the workspace on both engines, then the API checks against the built binary.
set -euo pipefail

cd "$(dirname "$0")/.."

command -v curl >/dev/null || scripts/install.sh curl
# A cluster that somebody else started stays.
if ! scripts/postgres.sh status >/dev/null 2>&1; then
    trap 'scripts/postgres.sh stop' EXIT
fi
CAMPANILE_TEST_POSTGRES=$(scripts/postgres.sh start | tail -n 1)
export CAMPANILE_TEST_POSTGRES

cargo test --workspace --locked
cargo build --locked -p campanile
scripts/schemathesis.sh
