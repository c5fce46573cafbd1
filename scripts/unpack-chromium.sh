#!/usr/bin/env bash
# Without root: downloads Debian's Chromium and the libraries it lacks here, unpacks them under build/chromium-root and
# prints the path of a launcher. Nothing outside build/ is touched. Called by find-chromium.sh.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD/build/chromium-root
launcher=$root/chromium

if [ ! -x "$launcher" ]; then
    command -v apt-get >/dev/null || { echo "Install Chromium, or set SWELL_CHROMIUM to its path." >&2; exit 1; }
    rm -rf "$root" && mkdir -p "$root/state/lists/partial" "$root/cache/archives/partial" "$root/tree"
    # apt with lists and archives of its own; what is installed on the machine is read, never written.
    apt=(apt-get -qq -o "Dir::State=$root/state" -o "Dir::Cache=$root/cache" -o Dir::State::status=/var/lib/dpkg/status
         -o Debug::NoLocking=1 -o APT::Install-Recommends=false -o APT::Sandbox::User=)
    {
        "${apt[@]}" update
        "${apt[@]}" --yes --download-only install chromium fonts-liberation
        for package in "$root"/cache/archives/*.deb; do dpkg-deb --extract "$package" "$root/tree"; done
    } >&2
    libs=$root/tree/usr/lib/$(uname -m)-linux-gnu
    cat > "$launcher" <<LAUNCHER
#!/bin/sh
export LD_LIBRARY_PATH="$libs:$root/tree/lib/$(uname -m)-linux-gnu:$root/tree/usr/lib/chromium\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH}"
export XDG_DATA_DIRS="$root/tree/usr/share:\${XDG_DATA_DIRS:-/usr/local/share:/usr/share}"
exec "$root/tree/usr/lib/chromium/chromium" "\$@"
LAUNCHER
    chmod +x "$launcher"
    rm -rf "$root/cache" "$root/state"
fi
"$launcher" --version >&2
echo "$launcher"
