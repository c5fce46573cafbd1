"""Where a drill that is run by hand keeps its data: gone when it ends."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.server.own_postgres import own_database, running_postgres


@contextmanager
def own_home(database: str) -> Iterator[tuple[Path, str | None]]:
    """A directory, and the URL of a database (None: SQLite in that directory). database: sqlite or postgresql."""
    with tempfile.TemporaryDirectory(prefix="swell-drill-") as directory:
        home = Path(directory) / "home"
        if database == "sqlite":
            yield home, None
            return
        with running_postgres() as uri, own_database(uri) as url:
            yield home, url
