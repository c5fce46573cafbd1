#!/usr/bin/env bash
# Prints the path of a Chromium that can be driven headless, installing one if there is none. Called by the Makefile.
# With root (or sudo without a password) it is Debian's own; without, the packages are unpacked under build/.
set -euo pipefail
cd "$(dirname "$0")/.."

found() { command -v "${SWELL_CHROMIUM:-chromium}" || command -v chromium-browser || command -v google-chrome; }

found && exit
root=()
[ "$(id -u)" = 0 ] || root=(sudo -n)
if command -v apt-get >/dev/null && "${root[@]}" true 2>/dev/null; then
    { "${root[@]}" apt-get update -qq && "${root[@]}" apt-get install -y -qq --no-install-recommends chromium; } >&2
    found && exit
fi
exec scripts/unpack-chromium.sh
