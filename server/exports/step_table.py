"""Every step of a run with its counts, metrics and weights."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import Any

from orchestrator.contracts.messages import MetricMessage
from server.database.engine import Database
from server.exports.table import ColumnType, ExportColumn, ExportTable, column_of
from server.history import queries as metric_queries
from server.steps import queries as step_queries
from server.steps.columns import REPORT_COLUMNS
from server.steps.lineage import Segment, run_segments
from server.steps.schemas import StepRow

STEPS_PER_PAGE = 500
_COLUMNS = (*REPORT_COLUMNS, "attempt", "superseded", "samples_total", "tokens_total")


def step_table(database: Database, run_key: int, *, superseded: bool) -> ExportTable[StepRow]:
    """The steps, first those of the current view. A metric that is new meanwhile has no column."""
    with database.read() as connection:
        segments = [s for s in run_segments(connection, run_key) if superseded or not s.superseded]
        known = metric_queries.metrics(connection, run_key).values()
    names = [metric.name for metric in known if metric.metric_id is not None]
    columns = [column_of(name, StepRow.model_fields[name]) for name in _COLUMNS]
    columns.append(ExportColumn(name="batch_decision", type=ColumnType.TEXT))
    titles = _metric_titles(names, taken=[column.name for column in columns])
    columns += [ExportColumn(name=title, type=ColumnType.FLOAT) for title in titles]
    return ExportTable(
        columns=columns,
        pages=_pages(database, run_key, segments),
        line=lambda row: row.model_dump_json().encode(),
        cells=partial(_cells, names=names),
    )


def _metric_titles(names: Sequence[str], *, taken: Iterable[str]) -> list[str]:
    """Of each metric's value and weight. Metrics may be named as columns of a step are, and files need them apart.

    >>> _metric_titles(["loss", "step"], taken=["step"])
    ['loss', 'loss (weight)', 'step (metric)', 'step (weight)']
    """
    titles = dict.fromkeys(taken)
    before = len(titles)
    for wanted in chain.from_iterable((name, f"{name} (weight)") for name in names):
        title = wanted
        while title in titles:
            title += " (metric)"
        titles[title] = None
    return list(titles)[before:]


def _pages(database: Database, run_key: int, segments: Sequence[Segment]) -> Iterator[list[StepRow]]:
    """Each page in a transaction of its own: a slow reader must not keep the database from tidying up."""
    for segment in segments:
        first = segment.first
        while True:
            with database.read() as connection:
                rows = step_queries.segment_page(connection, run_key, segment, first=first, limit=STEPS_PER_PAGE)
            if not rows:
                break
            yield rows
            first = rows[-1].step + 1


def _cells(row: StepRow, *, names: Sequence[str]) -> Iterator[list[Any]]:
    cells: list[Any] = [getattr(row, name) for name in _COLUMNS]
    cells.append(None if row.batch_decision is None else row.batch_decision.model_dump_json())
    for name in names:
        metric = row.metrics.get(name)
        cells += [_number(metric), None if metric is None else metric.weight]
    yield cells


def _number(metric: MetricMessage | None) -> float | None:
    return None if metric is None or metric.value is None else float(metric.value)
