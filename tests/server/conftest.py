"""A real server for each test, on SQLite and on PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.server.live_server import LiveServer, running_server
from tests.server.own_postgres import own_database, running_postgres
from tests.server.swell_commands import Swell


@pytest.fixture(scope="session")
def postgres_uri() -> Iterator[str]:
    """A real PostgreSQL, ended with the session."""
    with running_postgres() as uri:
        yield uri


@pytest.fixture
def postgres_url(postgres_uri: str) -> Iterator[str]:
    """A database of its own with the newest tables."""
    with own_database(postgres_uri) as url:
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest) -> str | None:
    """None: SQLite under the server's home."""
    return None if request.param == "sqlite" else str(request.getfixturevalue("postgres_url"))


@pytest.fixture
def server(tmp_path: Path, database_url: str | None) -> Iterator[LiveServer]:
    """A server without a supervisor: runs are recorded, none is started. On each database."""
    with running_server(tmp_path / "home", database_url=database_url) as live:
        yield live


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def shared_server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    """As `server`, one for a whole file, whose tests have runs of their own."""
    with ExitStack() as stack:
        is_sqlite = request.param == "sqlite"
        url = None if is_sqlite else stack.enter_context(own_database(request.getfixturevalue("postgres_uri")))
        yield stack.enter_context(running_server(tmp_path_factory.mktemp("home"), database_url=url))


@pytest.fixture
def sqlite_server(tmp_path: Path) -> Iterator[LiveServer]:
    """As `server`, where the database does not matter."""
    with running_server(tmp_path / "home") as live:
        yield live


@pytest.fixture
def swell(
    sqlite_server: LiveServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Swell:
    """Swell's commands against that server."""
    return Swell(sqlite_server, monkeypatch, capsys, tmp_path)
