"""Tables as CSV, JSON lines and Parquet, piece by piece: no file is ever whole in memory.

What was not measured is an empty cell or null; NaN and infinities are told apart from it in every format.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from datetime import datetime
from enum import StrEnum
from itertools import chain
from typing import Any

import orjson

from server.exports.table import ColumnType, ExportColumn, ExportTable, Row

# What a spreadsheet takes for the beginning of a formula.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n")


class ExportFormat(StrEnum):
    """What the file is."""

    CSV = "csv"
    """Rows and columns as text that no spreadsheet runs; lists are JSON."""
    JSONL = "jsonl"
    """One record a line, as the API tells it."""
    PARQUET = "parquet"
    """As CSV, with types."""

    @property
    def media_type(self) -> str:
        return {
            ExportFormat.CSV: "text/csv; charset=utf-8",
            ExportFormat.JSONL: "application/x-ndjson",
            ExportFormat.PARQUET: "application/vnd.apache.parquet",
        }[self]


def export(format_: ExportFormat, table: ExportTable[Row]) -> Iterator[bytes]:
    """The pieces of the file."""
    match format_:
        case ExportFormat.CSV:
            return _csv(table)
        case ExportFormat.JSONL:
            return _jsonl(table)
        case ExportFormat.PARQUET:
            return _parquet(table)


def safe_text(text: str) -> str:
    """A text that no spreadsheet runs: one that looks like a formula begins with an apostrophe.

    >>> safe_text("=1+2")
    "'=1+2"
    """
    return f"'{text}" if text.startswith(_FORMULA_STARTS) else text


def _jsonl(table: ExportTable[Row]) -> Iterator[bytes]:
    for page in table.pages:
        yield b"".join(table.line(row) + b"\n" for row in page)


def _csv(table: ExportTable[Row]) -> Iterator[bytes]:
    yield _lines([[safe_text(column.name) for column in table.columns]])
    for page in table.pages:
        yield _lines([list(map(_csv_cell, cells)) for row in page for cells in table.cells(row)])


def _lines(rows: Sequence[Sequence[Any]]) -> bytes:
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    return text.getvalue().encode()


_NON_FINITE = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


def _csv_cell(value: Any) -> Any:
    match value:
        case None:
            return ""
        case str():
            return safe_text(value)
        case float():
            return _NON_FINITE.get(str(value), value)
        case datetime():
            return value.isoformat().replace("+00:00", "Z")
        case tuple() | list():
            return orjson.dumps(value).decode()
    return value


def _parquet(table: ExportTable[Row]) -> Iterator[bytes]:
    # It takes longer to import than most servers take to start.
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = _schema(table.columns)
    sink = _Pieces()
    with pq.ParquetWriter(sink, schema) as writer:
        for page in table.pages:
            rows = list(chain.from_iterable(map(table.cells, page)))
            columns = zip(*rows, strict=True) if rows else ([] for _ in table.columns)
            arrays = [pa.array(list(cells), type=field.type) for cells, field in zip(columns, schema, strict=True)]
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema))
            yield sink.take()
    yield sink.take()


def _schema(columns: Sequence[ExportColumn]) -> Any:
    import pyarrow as pa

    types = {
        ColumnType.WHOLE: pa.int64(),
        ColumnType.FLOAT: pa.float64(),
        ColumnType.TRUTH: pa.bool_(),
        ColumnType.TEXT: pa.string(),
        ColumnType.MOMENT: pa.timestamp("us", tz="UTC"),
        ColumnType.TEXTS: pa.list_(pa.string()),
        ColumnType.FLOATS: pa.list_(pa.float64()),
    }
    return pa.schema([pa.field(column.name, types[column.type]) for column in columns])


class _Pieces(io.RawIOBase):
    """A file that only grows, and is taken away as it grows."""

    def __init__(self) -> None:
        super().__init__()
        self._pieces: list[bytes] = []
        self._position = 0

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def write(self, data: Any) -> int:
        piece = bytes(data)
        self._pieces.append(piece)
        self._position += len(piece)
        return len(piece)

    def close(self) -> None:
        """Nothing: the writer closes what it wrote to before the last piece is taken."""

    def take(self) -> bytes:
        """What was written since the last call."""
        taken, self._pieces = b"".join(self._pieces), []
        return taken
