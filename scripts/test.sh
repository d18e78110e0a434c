#!/usr/bin/env bash
# usage: scripts/test.sh
# Every test of the workspace on both engines, then the API checks against the built binary, and
# the kill loop against the release build.
set -euo pipefail

cd "$(dirname "$0")/.."

command -v curl >/dev/null || scripts/install.sh curl
# Gives a process a wrong clock.
faketime() { find /usr/lib -name libfaketimeMT.so.1 2>/dev/null | head -n 1; }
[ -n "$(faketime)" ] || scripts/install.sh libfaketime
CAMPANILE_TEST_FAKETIME=$(faketime)
export CAMPANILE_TEST_FAKETIME
# What somebody else started stays.
started=()
scripts/postgres.sh status >/dev/null 2>&1 || started+=(postgres)
scripts/peers.sh status >/dev/null 2>&1 || started+=(peers)
stop() { for server in "${started[@]}"; do "scripts/$server.sh" stop; done; }
trap stop EXIT
CAMPANILE_TEST_POSTGRES=$(scripts/postgres.sh start | tail -n 1)
export CAMPANILE_TEST_POSTGRES
addresses=$(scripts/peers.sh start)
set -a
eval "$addresses"
set +a

cargo test --workspace --locked
cargo build --locked -p campanile
scripts/schemathesis.sh
scripts/kill-loop.sh --suite
