#!/usr/bin/env bash
# usage: scripts/races.sh [NUMBER]     (10,000 unless told otherwise)
# Lets clients cancel, reschedule, edit and delete posts in the moment in which they are
# published, so many times each on SQLite and on PostgreSQL, and checks every answer.
set -euo pipefail

cd "$(dirname "$0")/.."
# A server that somebody else started stays.
scripts/postgres.sh status >/dev/null 2>&1 || trap 'scripts/postgres.sh stop' EXIT
CAMPANILE_TEST_POSTGRES=$(scripts/postgres.sh start | tail -n 1)
export CAMPANILE_TEST_POSTGRES CAMPANILE_TEST_RACES=${1:-10000}

cargo test --release --locked -p campanile --test it -- publish_races::
