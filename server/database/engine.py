"""Connections: one engine to read from many threads, one for the single writer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt
from sqlalchemy import Connection, Engine, Executable, Table, create_engine, event, make_url

_BUSY_TIMEOUT_MS = 10_000


class Database:
    """The two engines of one database. `close` it when the process ends."""

    def __init__(self, url: str) -> None:
        self.url = make_url(url)
        if self.url.get_backend_name() == "postgresql":
            self.url = self.url.set(drivername="postgresql+psycopg")
            self.read_engine, self.write_engine = _postgres_engines(self.url.render_as_string(hide_password=False))
        elif self.url.get_backend_name() == "sqlite":
            self.read_engine, self.write_engine = _sqlite_engines(self.url.render_as_string())
        else:
            raise ValueError(f"database_url begins with {self.url.drivername!r}; use sqlite:/// or postgresql://")
        self._is_closed = False

    @property
    def is_sqlite(self) -> bool:
        return self.url.get_backend_name() == "sqlite"

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A connection that sees one consistent state of the database and changes nothing."""
        try:
            with self.read_engine.connect() as connection, connection.begin():
                yield connection
        finally:
            # After it is back in the pool: `close` either finds it there, or has said before that it is closed.
            if self._is_closed:
                self._close_idle()

    def close(self) -> None:
        """Close every connection; one that is still in use, by a request that is being given up, when it comes back.

        Whoever writes has ended before.
        """
        self._is_closed = True
        self._close_idle()

    def _close_idle(self) -> None:
        for engine in (self.read_engine, self.write_engine):
            # Not `engine.dispose()`: it begins a new pool, and the old one keeps open what comes back to it.
            engine.pool.dispose()


def raw_rows(connection: Connection, statement: Executable) -> Sequence[tuple[Any, ...]]:
    """All rows as the driver's own tuples: NumPy takes them many times faster than SQLAlchemy's Row objects."""
    result = connection.execute(statement)
    rows: Sequence[tuple[Any, ...]] = result.cursor.fetchall()
    return rows


def float_columns(connection: Connection, statement: Executable, width: int) -> npt.NDArray[np.float64]:
    """All rows as [column, row] of floats; null becomes NaN. Whole numbers are exact up to 2^53."""
    rows = raw_rows(connection, statement)
    return np.array(rows, dtype=np.float64).T if rows else np.empty((width, 0))


def insert_raw(connection: Connection, table: Table, columns: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> None:
    """Insert many rows that need no conversion; several times as fast as an `insert` with dictionaries."""
    sign = "?" if connection.dialect.paramstyle == "qmark" else "%s"
    statement = f"INSERT INTO {table.name} ({', '.join(columns)}) VALUES ({', '.join([sign] * len(columns))})"
    connection.exec_driver_sql(statement, list(rows))


def upsert_raw(
    connection: Connection,
    table: Table,
    columns: Sequence[str],
    rows: Sequence[tuple[Any, ...]],
    *,
    key: Sequence[str],
) -> None:
    """As `insert_raw`; a row with a key that is there takes the place of the other."""
    sign = "?" if connection.dialect.paramstyle == "qmark" else "%s"
    changed = ", ".join(f"{name} = excluded.{name}" for name in columns if name not in key)
    statement = (
        f"INSERT INTO {table.name} ({', '.join(columns)}) VALUES ({', '.join([sign] * len(columns))}) "
        f"ON CONFLICT ({', '.join(key)}) DO UPDATE SET {changed}"
    )
    connection.exec_driver_sql(statement, list(rows))


def _sqlite_engines(url: str) -> tuple[Engine, Engine]:
    # SQLite has one writer; the reader's pool is as large as the thread pool of the web framework.
    write_engine = create_engine(url, pool_size=1, max_overflow=0)
    read_engine = create_engine(url, pool_size=40, max_overflow=10)
    for engine, begin in ((write_engine, "BEGIN IMMEDIATE"), (read_engine, "BEGIN")):
        _prepare_sqlite(engine, begin=begin, read_only=engine is read_engine)
    return read_engine, write_engine


def _prepare_sqlite(engine: Engine, *, begin: str, read_only: bool) -> None:
    @event.listens_for(engine, "connect")
    def on_connect(connection: Any, _record: Any) -> None:
        # The driver must not begin transactions by itself: a deferred one that reads and then writes can fail with
        # "database is locked" whatever the busy timeout is.
        connection.isolation_level = None
        cursor = connection.cursor()
        cursor.execute(f"PRAGMA busy_timeout = {_BUSY_TIMEOUT_MS}")
        cursor.execute("PRAGMA journal_mode = WAL")
        # FULL: what was answered survives a power cut, not only a killed process. Group commit pays for it.
        cursor.execute("PRAGMA synchronous = FULL")
        cursor.execute("PRAGMA foreign_keys = ON")
        cursor.execute("PRAGMA cache_size = -32000")
        if read_only:
            cursor.execute("PRAGMA query_only = ON")
        cursor.close()

    @event.listens_for(engine, "begin")
    def on_begin(connection: Connection) -> None:
        connection.exec_driver_sql(begin)


def _postgres_engines(url: str) -> tuple[Engine, Engine]:
    write_engine = create_engine(url, pool_size=1, max_overflow=0, pool_pre_ping=True)
    read_engine = create_engine(
        url,
        pool_size=10,
        max_overflow=30,
        pool_pre_ping=True,
        isolation_level="REPEATABLE READ",
        execution_options={"postgresql_readonly": True},
    )
    return read_engine, write_engine
