#!/usr/bin/env bash
# usage: scripts/python.sh
# Makes sure that .cache/python has the tools that check our API, and prints the folder of
# its programs as the last line.
set -euo pipefail

cd "$(dirname "$0")/.."
packages=(schemathesis==4.32.5 openapi-spec-validator==0.9.0)
home=$PWD/.cache/python
# Names what is installed, so that a changed version is noticed.
mark=$home/installed

if [ "$(cat "$mark" 2>/dev/null)" != "${packages[*]}" ]; then
    rm -rf "$home"
    mkdir -p .cache
    # Debian splits pip off; its absence shows only when a new environment is made.
    if ! python3 -m venv "$home" >&2; then
        scripts/install.sh python3 python3-venv
        rm -rf "$home"
        python3 -m venv "$home" >&2
    fi
    "$home/bin/pip" install --quiet --disable-pip-version-check "${packages[@]}" >&2
    echo "${packages[*]}" >"$mark"
fi
echo "$home/bin"
