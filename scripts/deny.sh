#!/usr/bin/env bash
# usage: scripts/deny.sh
# Licences, sources and bans of all dependencies, and known vulnerabilities where their list
# can be fetched. Builds cargo-deny into .cache once.
set -euo pipefail

cd "$(dirname "$0")/.."
version=0.20.2
export PATH="$PWD/.cache/tools/bin:$PATH"

if ! cargo deny --version 2>/dev/null | grep -qF " $version"; then
    echo "Building cargo-deny $version, which takes some minutes." >&2
    cargo install cargo-deny --version "$version" --locked --root .cache/tools
fi

cargo deny --workspace --locked check --hide-inclusion-graph licenses bans sources

# A list that cannot be fetched is not a fault of ours; one that was fetched and names a
# vulnerability is.
if cargo deny --workspace --locked fetch db >/dev/null 2>&1; then
    cargo deny --workspace --locked check --disable-fetch --hide-inclusion-graph advisories
else
    echo "The list of known vulnerabilities cannot be fetched here: advisories were not checked." >&2
fi
