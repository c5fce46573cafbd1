"""SWELL_HOME on the disk: whether this user can keep a server's data there."""

from __future__ import annotations

import tempfile
from pathlib import Path

from server.client.server_record import unusable_home


def make_home(home: Path) -> None:
    """Create the directory if need be. Raises InvalidError where nothing can be written to it."""
    try:
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.TemporaryFile(dir=home):
            pass
    except OSError as error:
        raise unusable_home(home, error) from error
