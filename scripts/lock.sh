#!/usr/bin/env bash
# Writes requirements.lock and requirements-dev.lock from a new environment with the newest versions that pyproject.toml
# allows. Run it by hand to take newer versions, then `make test`.
set -euo pipefail
cd "$(dirname "$0")/.."
env=$(mktemp -d)
trap 'rm -rf "$env"' EXIT
${PYTHON:-python3} -m venv "$env"

freeze() {
    # torch's local version (+cpu, +cu130) depends on the machine; the release does not.
    echo "# Made by scripts/lock.sh; the versions that are tested together."
    "$env/bin/python" -m pip freeze --exclude-editable --exclude swell | sed -E 's/^(torch==[^+]+)\+.*/\1/'
    "$env/bin/python" -m pip list --format=freeze | grep '^setuptools=='  # builds the project itself
}

"$env/bin/python" -m pip install --quiet 'setuptools>=77' torch==2.13.0
"$env/bin/python" -m pip install --quiet .
freeze > requirements.lock
"$env/bin/python" -m pip install --quiet '.[dev]'
freeze > requirements-dev.lock
