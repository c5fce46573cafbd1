"""Writes the golden answers: to be read before they are committed."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from tests.golden.answers import PATH, answers
from tests.server.live_server import running_server

with tempfile.TemporaryDirectory() as home, running_server(Path(home) / "home") as server:
    PATH.write_text(json.dumps(answers(server), indent=1) + "\n")
