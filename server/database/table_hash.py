"""What a table holds, as a number of rows and a hash that is the same on every database.

The order of rows does not matter: databases sort texts differently.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Boolean, Column, Double, Table

_MODULUS = 2**256


@dataclass(frozen=True, slots=True, kw_only=True)
class TableHash:
    """Equal for equal sets of rows."""

    num_rows: int
    sha256: str


def plain_row(columns: Sequence[Column[Any]], row: Sequence[Any]) -> tuple[Any, ...]:
    """A row as both databases take it: SQLite keeps truth as 0 and 1, and whole floats sometimes as integers."""
    return tuple(_plain(column, value) for column, value in zip(columns, row, strict=True))


def hash_rows(table: Table, rows: Iterable[Sequence[Any]]) -> TableHash:
    """The hash of rows that have all columns of the table in its order."""
    columns = list(table.columns)
    total, count = 0, 0
    for row in rows:
        digest = hashlib.sha256()
        for value in plain_row(columns, row):
            digest.update(_encoded(value))
        total = (total + int.from_bytes(digest.digest(), "big")) % _MODULUS
        count += 1
    return TableHash(num_rows=count, sha256=f"{total:064x}")


def _plain(column: Column[Any], value: Any) -> Any:
    if value is None:
        return None
    if isinstance(column.type, Boolean):
        return bool(value)
    return float(value) if isinstance(column.type, Double) else value


def _encoded(value: Any) -> bytes:
    """Unambiguous: a letter for the type, the length, the bytes."""
    match value:
        case None:
            kind, data = b"n", b""
        case bool():
            kind, data = b"b", b"1" if value else b"0"
        case int():
            kind, data = b"i", str(value).encode()
        case float():
            kind, data = b"f", struct.pack(">d", value)
        case str():
            kind, data = b"s", value.encode()
        case _:
            kind, data = b"x", bytes(value)
    return kind + len(data).to_bytes(8, "big") + data
