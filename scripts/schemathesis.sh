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
binary=${CAMPANILE_BINARY:-$target/debug/campanile}
if [ -z "${CAMPANILE_BINARY:-}" ] && [ "$target/release/campanile" -nt "$binary" ]; then
    binary=$target/release/campanile
fi
[ -x "$binary" ] || { echo "Nothing to check: run cargo build first." >&2; exit 1; }
binary=$(realpath "$binary")
command -v curl >/dev/null || scripts/install.sh curl
python=$(scripts/python.sh | tail -n 1)

# What is there to be ended and removed.
folder=
server=
database=
finish() {
    local status=$?
    trap - EXIT
    if [ "$status" != 0 ] && [ -n "$folder" ]; then
        echo "--- end of the service's log" >&2
        tail -n 30 "$folder/log" >&2
    fi
    clean_up || true
    exit "$status"
}
trap finish EXIT

clean_up() {
    if [ -n "$server" ]; then
        kill "$server" 2>/dev/null || true
        wait "$server" || true
    fi
    [ -z "$database" ] || administer "DROP DATABASE $database WITH (FORCE)"
    [ -z "$folder" ] || rm -rf "$folder"
    folder=
    server=
    database=
}

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
        cluster=${CAMPANILE_TEST_POSTGRES:-$(scripts/postgres.sh start | tail -n 1)}
        administer "CREATE DATABASE schemathesis_$$"
        database=schemathesis_$$
        export CAMPANILE_DATABASE_URL=${cluster%/*}/$database
    fi
    "$binary" serve >"$folder/printed" 2>"$folder/log" &
    server=$!
    if ! curl -fs --retry 60 --retry-delay 1 --retry-connrefused "$origin/api/external/v1/health" >/dev/null; then
        echo "The service does not answer." >&2
        exit 1
    fi
}

# Runs a statement on the PostgreSQL server.
administer() { psql --quiet "$cluster" -c "$1" >&2; }

# usage: send PATH JSON [HEADER]; prints the answer
send() {
    curl -fsS "$origin$1" -H 'content-type: application/json' -H "${3:-accept: application/json}" -d "$2"
}

# usage: pick EXPRESSION; prints a part of the JSON on standard input, as in ["session"]["token"]
pick() { "$python/python" -c "import json, sys; print(json.load(sys.stdin)$1)"; }

# usage: add_picture HEADER; uploads one and prints its id in the media library and its path
add_picture() {
    local picture=crates/media/tests/fixtures/photo.jpg upload path
    upload=$(send /api/external/v1/uploads/posts/sign \
        "{\"content_type\":\"image/jpeg\",\"size\":$(wc -c <"$picture")}" "$1")
    path=$(pick '["upload"]["storage_path"]' <<<"$upload")
    curl -fsS -T "$picture" -H 'content-type: image/jpeg' "$(pick '["upload"]["url"]' <<<"$upload")" >/dev/null
    echo "$(send /api/external/v1/media-library "{\"storage_path\":\"$path\"}" "$1" | pick '["item"]["id"]') $path"
}

# Makes what the checks work with: a user with a key and a session, a brand, posts and media.
prepare() {
    local email=check@example.test password="a password for checks"
    "$binary" user create --email "$email" --name Check --password "$password" >/dev/null
    CAMPANILE_CHECK_KEY=$("$binary" key create --user "$email" --name check --scopes '*')
    CAMPANILE_CHECK_SESSION=$(send /api/auth/sign-in "{\"email\":\"$email\",\"password\":\"$password\"}" |
        pick '["session"]["token"]')
    local header="x-api-key: $CAMPANILE_CHECK_KEY" number
    local whoami
    whoami=$(curl -fsS "$origin/api/external/v1/whoami" -H "$header")
    CAMPANILE_CHECK_KEY_ID=$(pick '["key"]["id"]' <<<"$whoami")
    CAMPANILE_CHECK_BRAND=$(pick '["brand_id"]' <<<"$whoami")
    CAMPANILE_CHECK_POSTS=
    for number in 1 2 3 4 5; do
        CAMPANILE_CHECK_POSTS+=" $(send /api/external/v1/posts "{\"content\":\"Post $number\"}" "$header" |
            pick '["post"]["id"]')"
    done
    CAMPANILE_CHECK_MEDIA=$(add_picture "$header")
    export CAMPANILE_CHECK_KEY CAMPANILE_CHECK_KEY_ID CAMPANILE_CHECK_SESSION
    export CAMPANILE_CHECK_BRAND CAMPANILE_CHECK_POSTS CAMPANILE_CHECK_MEDIA
}

check() {
    local engine=$1
    echo "Checking the API on $engine" >&2
    folder=$(mktemp -d)
    start_service "$engine"

    prepare
    curl -fsS "$origin/openapi.json" -o "$folder/openapi.json"
    "$python/openapi-spec-validator" "$folder/openapi.json"
    "$python/python" scripts/openapi_examples.py "$folder/openapi.json"
    # From the temporary folder, because it leaves notes where it runs.
    (cd "$folder" && CAMPANILE_CHECK_HOOKS=$project/scripts/schemathesis_checks.py "$python/schemathesis" \
        --no-color --config-file "$project/scripts/schemathesis.toml" run "$origin/openapi.json")

    # Had the service ended, or its key been lost on the way, the rest would have shown nothing.
    if ! curl -fsS "$origin/api/external/v1/whoami" -H "x-api-key: $CAMPANILE_CHECK_KEY" >/dev/null; then
        echo "The key does not work any more after the checks." >&2
        exit 1
    fi
    if grep -F panicked "$folder/log" >&2; then exit 1; fi
    clean_up
}

for engine in "${engines[@]}"; do check "$engine"; done
