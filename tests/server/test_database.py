from __future__ import annotations

import sqlite3
import threading
from pathlib import Path
from typing import Any

import psycopg
from sqlalchemy import event, text

from server.database.engine import Database


def test_a_connection_that_is_in_use_when_the_database_closes_is_closed_when_it_comes_back(
    tmp_path: Path, database_url: str | None
) -> None:
    database = Database(database_url or f"sqlite:///{tmp_path / 'a.db'}")
    with database.read() as connection:
        late = connection.connection.dbapi_connection
        database.close()
        assert connection.execute(text("SELECT 1")).scalar() == 1
    assert _is_closed(late)


def test_a_connection_that_is_on_its_way_back_when_the_database_closes_is_closed(
    tmp_path: Path, database_url: str | None
) -> None:
    database = Database(database_url or f"sqlite:///{tmp_path / 'a.db'}")
    event.listen(database.read_engine, "checkin", lambda *_: database.close())
    with database.read() as connection:
        late = connection.connection.dbapi_connection
    assert _is_closed(late)


def test_whoever_reads_while_the_database_closes_leaves_nothing_open(tmp_path: Path, database_url: str | None) -> None:
    database = Database(database_url or f"sqlite:///{tmp_path / 'a.db'}")
    opened: list[Any] = []
    has_begun = threading.Event()

    def on_connect(connection: Any, _record: Any) -> None:
        opened.append(connection)
        has_begun.set()

    event.listen(database.read_engine, "connect", on_connect)
    readers = [threading.Thread(target=_read_often, args=(database,)) for _ in range(4)]
    for reader in readers:
        reader.start()
    has_begun.wait()
    database.close()
    for reader in readers:
        reader.join()
    assert all(map(_is_closed, opened))


def _read_often(database: Database) -> None:
    for _ in range(20):
        with database.read() as connection:
            connection.execute(text("SELECT 1"))


def _is_closed(connection: Any) -> bool:
    if isinstance(connection, psycopg.Connection):
        return connection.closed
    try:
        connection.execute("SELECT 1")
    except sqlite3.ProgrammingError as error:
        return "closed" in str(error)
    return False
