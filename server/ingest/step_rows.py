"""All SQL that stores steps: their columns, schedules, timelines, metrics, running totals."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import accumulate
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
_schedule_blob, _timeline_blob = attrgetter("schedule_blob"), attrgetter("timeline_blob")
_BLOB_COLUMNS = ("run_key", "attempt", "step", "blob")
_POINT_COLUMNS = ("metric_id", "attempt", "step", "value", "kind", "weight")
_STARTED_AT = select(steps.c.started_at).where(
    steps.c.run_key == bindparam("this_run"),
    steps.c.attempt == bindparam("this_attempt"),
    steps.c.step == bindparam("this_step"),
)


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


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSteps:
    """Steps of one attempt that are not stored yet, ascending."""

    run_key: int
    attempt: int
    steps: Sequence[PreparedStep]
    totals: Sequence[Totals]
    """After each of them."""
    metric_ids: Mapping[str, int]


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


def running_totals(total: Totals, prepared: Iterable[PreparedStep]) -> list[Totals]:
    """The totals after each of these steps. total: what the first of them adds to."""
    added = (Totals(samples=step.message.global_batch_size, tokens=step.message.num_tokens) for step in prepared)
    return list(accumulate(added, initial=total))[1:]


def insert_steps(connection: Connection, new: Sequence[NewSteps]) -> None:
    """Store the new steps of several attempts."""
    for table, columns, rows in (
        (steps, _STEP_COLUMNS, _step_rows(new)),
        (schedules, _BLOB_COLUMNS, _blob_rows(new, _schedule_blob)),
        (timelines, _BLOB_COLUMNS, _blob_rows(new, _timeline_blob)),
        (points, _POINT_COLUMNS, _point_rows(new)),
    ):
        if stored := list(rows):
            insert_raw(connection, table, columns, stored)


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


def _step_rows(new: Iterable[NewSteps]) -> Iterator[tuple[Any, ...]]:
    for one in new:
        for step, total in zip(one.steps, one.totals, strict=True):
            message, decision = step.message, step.message.batch_decision
            yield (
                one.run_key,
                one.attempt,
                step.content_hash,
                None if decision is None else decision.model_dump_json(),
                total.samples,
                total.tokens,
                to_microseconds(message.started_at),
                to_microseconds(message.ended_at),
                *_plain_values(message),
            )


def _blob_rows(
    new: Iterable[NewSteps], blob_of: Callable[[PreparedStep], bytes | None]
) -> Iterator[tuple[int, int, int, bytes]]:
    for one in new:
        for step in one.steps:
            if (blob := blob_of(step)) is not None:
                yield one.run_key, one.attempt, step.step, blob


def _point_rows(new: Iterable[NewSteps]) -> Iterator[tuple[Any, ...]]:
    for one in new:
        for step in one.steps:
            number = step.step
            for name, metric in step.metrics.items():
                value, kind = to_columns(metric.value)
                yield one.metric_ids[name], one.attempt, number, value, kind, metric.weight
