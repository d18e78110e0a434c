#!/usr/bin/env bash
# usage: scripts/install.sh PACKAGE...
# Installs Debian packages without asking, as root or through sudo.
set -euo pipefail

if ! command -v apt-get >/dev/null; then
    echo "Please install what Debian calls $* and try again: this system has no apt-get." >&2
    exit 1
fi

as_root=()
if [ "$(id -u)" != 0 ]; then
    if ! sudo -n true 2>/dev/null; then
        echo "Please run: sudo apt-get install $*" >&2
        exit 1
    fi
    as_root=(sudo -n)
fi

echo "Installing $*" >&2
# Standard output belongs to the calling script, which may answer with a single line.
"${as_root[@]}" apt-get update -qq >&2
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends -o Dpkg::Options::=--force-confold "$@" >&2
