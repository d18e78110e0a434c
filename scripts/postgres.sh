#!/usr/bin/env bash
# usage: scripts/postgres.sh start|stop|status [--durable]
#
# A private PostgreSQL cluster for tests, under .cache/postgres; with --durable another one
# that waits for the disk, for measurements. `start` installs PostgreSQL when it is missing,
# does nothing when the cluster runs, and prints the connection URL as its last line.
set -euo pipefail

cd "$(dirname "$0")/.."
project=$PWD
oldest=15

action=${1:-}
name=postgres
settings="-c max_connections=300 -c shared_buffers=128MB -c unix_socket_directories="
case ${2:-} in
"") settings+=" -c fsync=off -c synchronous_commit=off -c full_page_writes=off" ;;
--durable) name=postgres-durable ;;
*) action=unknown ;;
esac
# Remembers a folder elsewhere, for a checkout that the unprivileged user cannot enter.
location_file=$project/.cache/$name-location
location=$project/.cache/$name
[ ! -s "$location_file" ] || location=$(<"$location_file")

say() { echo "$@" >&2; }

# Prints the folder of the newest server binaries, or nothing when all are too old.
find_binaries() {
    local folder version best=$((oldest - 1)) found=
    for folder in /usr/lib/postgresql/*/bin /usr/pgsql-*/bin "$(pg_config --bindir 2>/dev/null || true)" \
        "$(dirname "$(readlink -f "$(command -v initdb || echo /none/initdb)")")"; do
        if [ ! -x "$folder/initdb" ] || [ ! -x "$folder/postgres" ]; then continue; fi
        version=$("$folder/postgres" --version | sed -E 's/[^0-9]*([0-9]+).*/\1/')
        if [ "$version" -gt "$best" ]; then
            best=$version
            found=$folder
        fi
    done
    echo "$found"
}

install_server() {
    # Otherwise the package makes a cluster of its own and starts it on the usual port.
    local configuration=/etc/postgresql-common/createcluster.conf
    if [ "$(id -u)" = 0 ] && [ ! -e "$configuration" ]; then
        mkdir -p "$(dirname "$configuration")"
        echo "create_main_cluster = false" >"$configuration"
    fi
    "$project/scripts/install.sh" postgresql
}

# PostgreSQL refuses to run as root. Sets `drop`, the words before each of its commands.
drop=()
choose_user() {
    [ "$(id -u)" = 0 ] || return 0
    local user=postgres
    if ! id "$user" >/dev/null 2>&1; then
        user=campanile-test
        id "$user" >/dev/null 2>&1 || useradd --system --no-create-home --shell /usr/sbin/nologin "$user"
    fi
    drop=(setpriv "--reuid=$user" "--regid=$(id -g "$user")" --clear-groups env "HOME=/tmp")
    owner=$user
}

# Makes sure that the server's user can enter and write the folder.
prepare_location() {
    mkdir -p "$location"
    [ ${#drop[@]} = 0 ] || chown "$owner" "$location"
    chmod 700 "$location"
    if ! "${drop[@]}" test -w "$location/." 2>/dev/null; then
        rmdir "$location" 2>/dev/null || true
        location=$(mktemp -d "${TMPDIR:-/tmp}/campanile-$name.XXXXXX")
        [ ${#drop[@]} = 0 ] || chown "$owner" "$location"
        echo "$location" >"$location_file"
    fi
}

# The lock must not be inherited (9>&-): the server outlives this script.
pg_ctl() { (cd "$location" && "${drop[@]}" "$binaries/pg_ctl" -D "$location/data" -s "$@" 9>&-); }

is_running() { [ -n "$binaries" ] && [ -d "$location/data" ] && pg_ctl status >/dev/null 2>&1; }

print_url() {
    # The fourth line of this file is the port.
    local port
    port=$("${drop[@]}" sed -n 4p "$location/data/postmaster.pid")
    echo "postgres://postgres@127.0.0.1:$port/postgres"
}

make_cluster() {
    "${drop[@]}" rm -rf "$location/data"
    # Sorts as people do, so that a query which needs the order of bytes without saying so fails here.
    (cd "$location" && "${drop[@]}" "$binaries/initdb" -D "$location/data" -U postgres -A trust -E UTF8 \
        --locale=C.UTF-8 --locale-provider=icu --icu-locale=en-US --no-sync >"$location/initdb.log" 2>&1) || {
        cat "$location/initdb.log" >&2
        exit 1
    }
}

free_port() {
    local port
    while port=$((20000 + RANDOM % 12000)); do
        # Refused means that nobody listens there.
        (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || { echo "$port"; return; }
    done
}

start() {
    [ -n "$binaries" ] || { install_server && binaries=$(find_binaries); }
    [ -n "$binaries" ] || { say "PostgreSQL $oldest or newer is needed."; exit 1; }
    choose_user
    if is_running; then
        print_url
        return
    fi
    prepare_location
    local version
    version=$("$binaries/postgres" --version | sed -E 's/[^0-9]*([0-9]+).*/\1/')
    [ "$("${drop[@]}" cat "$location/data/PG_VERSION" 2>/dev/null)" = "$version" ] || make_cluster
    local attempt
    for attempt in 1 2 3 4; do
        if pg_ctl -l "$location/data/log" -w -t 60 -o "-p $(free_port) -h 127.0.0.1 $settings" start; then
            print_url
            return
        fi
        # The first failure may be a port taken in between; a second one is a cluster that was
        # cut off without fsync, and nothing in it is worth keeping.
        [ "$attempt" != 2 ] || make_cluster
    done
    "${drop[@]}" tail -n 20 "$location/data/log" >&2
    exit 1
}

stop() {
    choose_user
    if is_running; then pg_ctl -m immediate stop; fi
}

mkdir -p .cache
exec 9>".cache/$name.lock"
flock 9
binaries=$(find_binaries)
case $action in
start) start ;;
stop) stop ;;
status)
    choose_user
    if is_running; then print_url; else say "stopped"; exit 3; fi
    ;;
*)
    say "usage: scripts/postgres.sh start|stop|status [--durable]"
    exit 2
    ;;
esac
