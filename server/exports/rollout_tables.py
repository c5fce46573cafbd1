"""The books of every iteration, and every recorded rollout with its texts and tokens."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from sqlalchemy import Connection, select

from server.database.engine import Database
from server.database.tables import iterations
from server.exports.table import ColumnType, ExportColumn, ExportTable, column_of
from server.rollouts.books import books_of
from server.rollouts.records import RolloutRecord, group_records
from server.rollouts.schemas import IterationBooks
from server.steps.lineage import Segment, in_iteration_segments, iteration_segments

ITERATIONS_PER_PAGE = 500
_BOOK_COLUMNS = tuple(IterationBooks.model_fields)
_RECORD_COLUMNS = tuple(RolloutRecord.model_fields)
_RECORD_TYPES = {
    "pieces": ColumnType.TEXTS,
    "log_probs": ColumnType.FLOATS,
    "trainer_log_probs": ColumnType.FLOATS,
}
_SUPERSEDED = ExportColumn(name="superseded", type=ColumnType.TRUTH)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedBooks:
    """The books of one iteration, and whether a later attempt ran it again."""

    books: IterationBooks
    superseded: bool


def iteration_table(database: Database, run_key: int, *, superseded: bool) -> ExportTable[ExportedBooks]:
    """A row for each iteration, first those of the current view."""
    columns = [column_of(name, IterationBooks.model_fields[name]) for name in _BOOK_COLUMNS]
    return ExportTable(
        columns=[*columns, _SUPERSEDED],
        pages=_book_pages(database, run_key, superseded=superseded),
        line=lambda row: orjson.dumps(row.books.model_dump(mode="json") | {"superseded": row.superseded}),
        cells=_book_cells,
    )


def rollout_table(database: Database, run_key: int, *, superseded: bool) -> ExportTable[RolloutRecord]:
    """A row for each recorded rollout, first those of the current view."""
    columns = [
        ExportColumn(name=name, type=_RECORD_TYPES[name])
        if name in _RECORD_TYPES
        else column_of(name, RolloutRecord.model_fields[name])
        for name in _RECORD_COLUMNS
    ]
    return ExportTable(
        columns=columns,
        pages=_record_pages(database, run_key, superseded=superseded),
        line=lambda row: row.model_dump_json().encode(),
        cells=lambda row: [[_plain(getattr(row, name)) for name in _RECORD_COLUMNS]],
    )


def _segments(connection: Connection, run_key: int, *, superseded: bool) -> list[Segment]:
    return [s for s in iteration_segments(connection, run_key) if superseded or not s.superseded]


def _book_pages(database: Database, run_key: int, *, superseded: bool) -> Iterator[list[ExportedBooks]]:
    with database.read() as connection:
        segments = _segments(connection, run_key, superseded=superseded)
    for segment in segments:
        first = segment.first
        while True:
            query = select(iterations).where(
                in_iteration_segments(iterations, run_key, [segment]), iterations.c.iteration >= first
            )
            with database.read() as connection:
                rows = connection.execute(query.order_by(iterations.c.iteration).limit(ITERATIONS_PER_PAGE)).all()
            if not rows:
                break
            yield [ExportedBooks(books=books_of(row), superseded=segment.superseded) for row in rows]
            first = rows[-1].iteration + 1


def _book_cells(row: ExportedBooks) -> Iterator[list[Any]]:
    yield [*(_plain(getattr(row.books, name)) for name in _BOOK_COLUMNS), row.superseded]


def _record_pages(database: Database, run_key: int, *, superseded: bool) -> Iterator[Sequence[RolloutRecord]]:
    """One group a page: its texts and tokens may be many."""
    for page in _book_pages(database, run_key, superseded=superseded):
        for row in page:
            for number in range(row.books.num_recorded_groups):
                with database.read() as connection:
                    yield group_records(connection, run_key, row.books, number, superseded=row.superseded)


def _plain(value: Any) -> Any:
    return orjson.dumps(value).decode() if isinstance(value, dict) else value
