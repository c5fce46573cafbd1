"""The committed client says what the server says."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.web.browser import WEB

pytestmark = pytest.mark.stack


def test_the_openapi_document_is_the_servers() -> None:
    told = subprocess.run([sys.executable, "-m", "server.openapi"], capture_output=True, text=True, check=True)
    assert (WEB / "openapi.json").read_text(encoding="utf8") == told.stdout, "run `make openapi`"


def test_the_client_is_made_from_it() -> None:
    made = subprocess.run(
        ["node_modules/.bin/openapi-typescript", "openapi.json"], cwd=WEB, capture_output=True, text=True, check=True
    )
    assert (WEB / "src" / "api" / "schema.gen.ts").read_text(encoding="utf8") == made.stdout, "run `make openapi`"
