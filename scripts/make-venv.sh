#!/usr/bin/env bash
# Makes .venv if it isn't there and installs exactly what a lock file lists. Called by the Makefile.
set -euo pipefail
cd "$(dirname "$0")/.."
lock=$1
python=${PYTHON:-python3}

"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
    echo "Swell needs Python 3.11 or newer; $python is $("$python" --version 2>&1). Try: make PYTHON=/path/to/python3.11" >&2
    exit 1
}

make_venv() {
    # Debian ships venv without its pip installer unless python3-venv is there.
    "$python" -c 'import ensurepip' 2>/dev/null && "$python" -m venv .venv && return
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        apt-get update -qq && apt-get install -y -qq python3-venv && "$python" -m venv .venv && return
    fi
    if "$python" -m pip --version >/dev/null 2>&1; then
        "$python" -m pip install --quiet --target build/virtualenv virtualenv
        PYTHONPATH=build/virtualenv "$python" -m virtualenv --quiet .venv && return
    fi
    echo "Cannot make a Python environment: install the package python3-venv." >&2
    exit 1
}

[ -x .venv/bin/python ] || make_venv
echo "Installing the Python packages of $lock: 2.4 GB with what tests need, some minutes the first time." >&2
# The project itself is installed in place: `swell` in .venv/bin runs the files of this folder.
.venv/bin/python -m pip install --quiet --disable-pip-version-check --no-input -r "$lock"
.venv/bin/python -m pip install --quiet --disable-pip-version-check --no-input --no-deps --no-build-isolation -e .
