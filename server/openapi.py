"""Prints the API document, from which the dashboard types are made: `python -m server.openapi > web/openapi.json`."""

from __future__ import annotations

import sys
from pathlib import Path

import orjson

from server.app import create_app
from server.settings import Settings


def main() -> None:
    """Write the document to standard output."""
    app = create_app(Settings(home=Path()))
    sys.stdout.write(orjson.dumps(app.openapi(), option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS).decode() + "\n")


if __name__ == "__main__":
    main()
