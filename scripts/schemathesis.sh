#!/usr/bin/env bash
# usage: scripts/schemathesis.sh [sqlite|postgres]...     (both when none is named)
# Starts the built binary and sends it what its OpenAPI document allows, and what it forbids.
set -euo pipefail

cd "$(dirname "$0")/.."
project=$PWD
engines=("$@")
[ ${#engines[@]} != 0 ] || engines=(sqlite postgres)

target=${CARGO_TARGET_DIR:-target}
# The newer of the two builds, unless one is named.
binary=${CAMPANILE_BINARY:-$(ls -t "$target"/{debug,release}/campanile 2>/dev/null | head -n 1)}
[ -x "$binary" ] || { echo "Nothing to check: run cargo build first." >&2; exit 1; }
binary=$(realpath "$binary")
command -v curl >/dev/null || scripts/install.sh curl
python=$(scripts/python.sh | tail -n 1)

folder=
server=
finish() {
    local status=$?
    trap - EXIT
    if [ -n "$server" ]; then
        kill "$server" 2>/dev/null && wait "$server" || true
    fi
    if [ -n "$folder" ]; then
        if [ "$status" != 0 ]; then
            echo "--- end of the service's log" >&2
            tail -n 30 "$folder/log" >&2
        fi
        rm -rf "$folder"
    fi
    exit "$status"
}
trap finish EXIT

free_port() {
    local port
    while port=$((10000 + RANDOM % 10000)); do
        # Refused means that nobody listens there.
        (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || { echo "$port"; return; }
    done
}

# usage: start_service ENGINE; sets `server` and `origin`
start_service() {
    local port
    port=$(free_port)
    origin=http://127.0.0.1:$port
    export CAMPANILE_LISTEN=127.0.0.1:$port
    export CAMPANILE_DATA_DIR=$folder/data
    export CAMPANILE_RATE_LIMIT=off
    unset CAMPANILE_DATABASE_URL
    if [ "$1" = postgres ]; then
        CAMPANILE_DATABASE_URL=$(fresh_database)
        export CAMPANILE_DATABASE_URL
    fi
    "$binary" serve >"$folder/printed" 2>"$folder/log" &
    server=$!
    local attempt
    for attempt in $(seq 300); do
        if curl -fs "$origin/api/external/v1/health" >/dev/null; then return; fi
        kill -0 "$server" || { echo "The service ended at its start." >&2; exit 1; }
        sleep 0.1
    done
    echo "The service does not answer." >&2
    exit 1
}

# Prints the URL of a new database; the cluster is thrown away as a whole.
fresh_database() {
    local cluster name=schemathesis_$$
    cluster=${CAMPANILE_TEST_POSTGRES:-$(scripts/postgres.sh start | tail -n 1)}
    psql -q "$cluster" -c "DROP DATABASE IF EXISTS $name WITH (FORCE)" -c "CREATE DATABASE $name" >&2
    echo "${cluster%/*}/$name"
}

check() {
    local engine=$1
    echo "Checking the API on $engine" >&2
    folder=$(mktemp -d)
    start_service "$engine"

    local email=check@example.test password="a password for checks"
    "$binary" user create --email "$email" --name Check --password "$password" >/dev/null
    CAMPANILE_CHECK_KEY=$("$binary" key create --user "$email" --name check --scopes '*')
    CAMPANILE_CHECK_SESSION=$(curl -fsS "$origin/api/auth/sign-in" -H 'content-type: application/json' \
        -d "{\"email\":\"$email\",\"password\":\"$password\"}" |
        "$python/python" -c 'import json, sys; print(json.load(sys.stdin)["session"]["token"])')
    export CAMPANILE_CHECK_KEY CAMPANILE_CHECK_SESSION

    curl -fsS "$origin/openapi.json" -o "$folder/openapi.json"
    "$python/openapi-spec-validator" "$folder/openapi.json"
    # From the temporary folder, because it leaves notes where it runs.
    (cd "$folder" && CAMPANILE_CHECK_HOOKS=$project/scripts/schemathesis_checks.py "$python/schemathesis" \
        --no-color --config-file "$project/scripts/schemathesis.toml" run "$origin/openapi.json")

    kill -0 "$server" || { echo "The service did not survive." >&2; exit 1; }
    if grep -F panicked "$folder/log" >&2; then exit 1; fi
    kill "$server"
    wait "$server"
    server=
    rm -rf "$folder"
    folder=
}

for engine in "${engines[@]}"; do check "$engine"; done
