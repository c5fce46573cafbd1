"""Moves everything from SQLite to PostgreSQL, exactly. Called by `swell db move`, while no server runs.

lock SQLite ──► tables in PostgreSQL ──► rows, table by table ──► counts and hashes compared ──► commit, or nothing
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Table, func, inspect, select, text

from server.database.engine import Database
from server.database.migrate import current_revision, newest_revision, upgrade
from server.database.table_hash import TableHash, hash_rows, plain_row
from server.database.tables import metadata

_ROWS_AT_ONCE = 5_000


class MoveError(Exception):
    """Nothing was moved, and both databases are as they were but for empty tables."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MovedTable:
    """A table that both databases hold alike now."""

    name: str
    num_rows: int
    sha256: str


def move(source: Database, target: Database) -> list[MovedTable]:
    """Copy every row of SQLite into an empty PostgreSQL. The source stays as it is.

    Raises MoveError where the two are not what they must be, or when what arrived differs from what was sent.
    """
    _check_source(source)
    _check_target(target)
    if current_revision(target.write_engine) is None:
        upgrade(target.write_engine)
    # The write engine begins with a lock: whoever wanted to write meanwhile waits.
    with source.write_engine.begin() as reading, target.write_engine.begin() as writing:
        moved = [_move_table(reading, writing, table) for table in metadata.sorted_tables]
        for table in metadata.sorted_tables:
            _continue_numbers(writing, table)
    return moved


def _check_source(source: Database) -> None:
    if not source.is_sqlite:
        raise MoveError("The first database must be SQLite.")
    present, newest = current_revision(source.write_engine), newest_revision()
    if present != newest:
        raise MoveError(f"The SQLite database is at revision {present}, not at {newest}; run `swell db upgrade` first.")


def _check_target(target: Database) -> None:
    if target.is_sqlite:
        raise MoveError("The second database must be PostgreSQL: postgresql://user@host/name.")
    present = current_revision(target.write_engine)
    if present not in (None, newest_revision()):
        raise MoveError(f"The PostgreSQL database is at revision {present}; move into an empty one.")
    with target.read() as connection:
        there = [name for name in inspect(connection).get_table_names() if name != "alembic_version"]
        full = [name for name in there if present is None or _count(connection, name)]
    if full:
        raise MoveError(f"The PostgreSQL database is not empty: {', '.join(sorted(full))}. Move into an empty one.")


def _count(connection: Connection, name: str) -> int:
    known = metadata.tables.get(name)
    if known is None:
        # Not ours; whatever it is, the database is not for us alone.
        return 1
    return connection.scalar(select(func.count()).select_from(known)) or 0


def _move_table(reading: Connection, writing: Connection, table: Table) -> MovedTable:
    names = ", ".join(column.name for column in table.columns)
    columns = list(table.columns)
    cursor = writing.connection.cursor()
    with cursor.copy(f"COPY {table.name} ({names}) FROM STDIN") as copy:
        for row in _rows(reading, table):
            copy.write_row(plain_row(columns, row))
    sent, arrived = hash_rows(table, _rows(reading, table)), hash_rows(table, _rows(writing, table))
    if sent != arrived:
        raise MoveError(_difference(table, sent, arrived))
    return MovedTable(name=table.name, num_rows=arrived.num_rows, sha256=arrived.sha256)


def _difference(table: Table, sent: TableHash, arrived: TableHash) -> str:
    return (
        f"{table.name}: {sent.num_rows} rows with the hash {sent.sha256[:16]} were sent, and {arrived.num_rows} with "
        f"{arrived.sha256[:16]} arrived. Nothing was moved."
    )


def _rows(connection: Connection, table: Table) -> Iterator[Sequence[Any]]:
    """All rows as the driver has them, a few thousand at a time."""
    names = ", ".join(column.name for column in table.columns)
    query = text(f"SELECT {names} FROM {table.name}")
    result = connection.execute(query, execution_options={"stream_results": True, "yield_per": _ROWS_AT_ONCE})
    for rows in result.partitions(_ROWS_AT_ONCE):
        yield from rows


def _continue_numbers(writing: Connection, table: Table) -> None:
    """Let the next row get the next number: the sequences know nothing of rows that were copied."""
    column = table.autoincrement_column
    if column is None or writing.scalar(select(func.max(column))) is None:
        return
    sequence = writing.scalar(select(func.pg_get_serial_sequence(table.name, column.name)))
    if sequence is not None:
        writing.execute(select(func.setval(sequence, select(func.max(column)).scalar_subquery())))
