"""All SQL that stores steps: their columns, schedules, timelines, metrics, running totals."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter
from typing import Any

from sqlalchemy import Connection, bindparam, select, update

from server.database.engine import insert_raw
from server.database.tables import attempts, points, schedules, steps, timelines, to_microseconds
from server.ingest.prepared_step import PreparedStep
from server.steps.columns import REPORT_COLUMNS
from server.steps.lineage import Segment
from server.steps.point_values import to_columns

_MOMENTS = ("started_at", "ended_at")
_PLAIN_COLUMNS = tuple(name for name in REPORT_COLUMNS if name not in _MOMENTS)
_STEP_COLUMNS = (
    *("run_key", "attempt", "content_hash", "batch_decision", "samples_total", "tokens_total"),
    *(*_MOMENTS, *_PLAIN_COLUMNS),
)
_plain_values = attrgetter(*_PLAIN_COLUMNS)
_BLOB_COLUMNS = ("run_key", "attempt", "step", "blob")
_POINT_COLUMNS = ("metric_id", "attempt", "step", "value", "kind", "weight")
_of_attempt = (steps.c.run_key == bindparam("this_run"), steps.c.attempt == bindparam("this_attempt"))
# Made once: to put a statement together takes longer than to run it.
_NEWEST = (
    select(steps.c.step, steps.c.samples_total, steps.c.tokens_total)
    .where(*_of_attempt)
    .order_by(steps.c.step.desc())
    .limit(1)
)
_STARTED_AT = select(steps.c.started_at).where(*_of_attempt, steps.c.step == bindparam("this_step"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """Samples and tokens trained up to and including a step."""

    samples: int = 0
    tokens: int | None = 0
    """None: a step up to here does not tell its tokens."""

    def __add__(self, other: Totals) -> Totals:
        unknown = self.tokens is None or other.tokens is None
        tokens = None if unknown else (self.tokens or 0) + (other.tokens or 0)
        return Totals(samples=self.samples + other.samples, tokens=tokens)


@dataclass(frozen=True, slots=True, kw_only=True)
class Newest:
    """The newest step of an attempt."""

    step: int
    totals: Totals


def newest_step(connection: Connection, run_key: int, attempt: int) -> Newest | None:
    """The newest step that an attempt recorded; a step after it is new, and its totals add to these."""
    row = connection.execute(_NEWEST, {"this_run": run_key, "this_attempt": attempt}).one_or_none()
    return row and Newest(step=row.step, totals=Totals(samples=row.samples_total, tokens=row.tokens_total))


def stored_hashes(connection: Connection, run_key: int, attempt: int, numbers: Iterable[int]) -> dict[int, bytes]:
    """The content hashes of those steps of the attempt that are stored already."""
    rows = connection.execute(
        select(steps.c.step, steps.c.content_hash).where(
            steps.c.run_key == run_key, steps.c.attempt == attempt, steps.c.step.in_(list(numbers))
        )
    )
    return {row.step: row.content_hash for row in rows}


def totals_before(connection: Connection, run_key: int, attempt: int, step: int) -> Totals:
    """The totals that a step of this attempt adds to: those of the step before it, in this attempt or an older one."""
    limit = step
    older = connection.execute(
        select(attempts.c.number, attempts.c.first_step)
        .where(attempts.c.run_key == run_key, attempts.c.number <= attempt)
        .order_by(attempts.c.number.desc())
    )
    for row in older.all():
        found = connection.execute(
            select(steps.c.samples_total, steps.c.tokens_total)
            .where(steps.c.run_key == run_key, steps.c.attempt == row.number, steps.c.step < limit)
            .order_by(steps.c.step.desc())
            .limit(1)
        ).one_or_none()
        if found is not None:
            return Totals(samples=found.samples_total, tokens=found.tokens_total)
        if row.first_step is not None:
            limit = min(limit, row.first_step)
    return Totals()


def insert_steps(
    connection: Connection,
    run_key: int,
    attempt: int,
    prepared: Sequence[PreparedStep],
    *,
    total: Totals,
    metric_ids: Mapping[str, int],
) -> list[Totals]:
    """Store new steps of an attempt, in ascending order. Returns the totals after each of them.

    total: what the first of them adds to.
    """
    totals: list[Totals] = []
    rows: list[tuple[Any, ...]] = []
    for step in prepared:
        total += Totals(samples=step.message.global_batch_size, tokens=step.message.num_tokens)
        totals.append(total)
        rows.append(_step_row(run_key, attempt, step, total))
    insert_raw(connection, steps, _STEP_COLUMNS, rows)
    for table, blobs in (
        (schedules, [(step.step, step.schedule_blob) for step in prepared if step.schedule_blob is not None]),
        (timelines, [(step.step, step.timeline_blob) for step in prepared if step.timeline_blob is not None]),
    ):
        if blobs:
            insert_raw(connection, table, _BLOB_COLUMNS, [(run_key, attempt, *blob) for blob in blobs])
    point_rows = [row for step in prepared for row in _point_rows(metric_ids, attempt, step)]
    if point_rows:
        insert_raw(connection, points, _POINT_COLUMNS, point_rows)
    return totals


def started_at(connection: Connection, run_key: int, segment: Segment) -> datetime:
    """When the first step of a segment of the current view began; an attempt recorded the step that it begins with."""
    place = {"this_run": run_key, "this_attempt": segment.attempt, "this_step": segment.first}
    moment: datetime = connection.execute(_STARTED_AT, place).scalar_one()
    return moment


def repeat_totals(connection: Connection, run_key: int, attempt: int, first: int) -> None:
    """Compute the totals of an attempt again from a step on, after one was stored in front of others."""
    total = totals_before(connection, run_key, attempt, first)
    mine = (steps.c.run_key == run_key, steps.c.attempt == attempt)
    rows = connection.execute(
        select(steps.c.step, steps.c.global_batch_size, steps.c.num_tokens)
        .where(*mine, steps.c.step >= first)
        .order_by(steps.c.step)
    ).all()
    values = []
    for row in rows:
        total += Totals(samples=row.global_batch_size, tokens=row.num_tokens)
        values.append({"at": row.step, "samples_total": total.samples, "tokens_total": total.tokens})
    connection.execute(update(steps).where(*mine, steps.c.step == bindparam("at")), values)


def _step_row(run_key: int, attempt: int, step: PreparedStep, total: Totals) -> tuple[Any, ...]:
    message, decision = step.message, step.message.batch_decision
    return (
        run_key,
        attempt,
        step.content_hash,
        None if decision is None else decision.model_dump_json(),
        total.samples,
        total.tokens,
        to_microseconds(message.started_at),
        to_microseconds(message.ended_at),
        *_plain_values(message),
    )


def _point_rows(metric_ids: Mapping[str, int], attempt: int, step: PreparedStep) -> Iterator[tuple[Any, ...]]:
    number = step.step
    for name, metric in step.metrics.items():
        value, kind = to_columns(metric.value)
        yield metric_ids[name], attempt, number, value, kind, metric.weight
