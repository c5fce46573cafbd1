"""All SQL over x axes: where the steps of a run lie on them, and which steps lie in a range of x."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sqlalchemy import ColumnElement, Connection, Double, func, literal, select

from server.database.engine import float_columns
from server.database.tables import rollups, steps
from server.history.buckets import Floats
from server.history.queries import Range, rollups_of, steps_between
from server.history.schemas import XAxis
from server.history.series import COLUMN_NUMBERS
from server.history.stretches import COARSEST, Stretch
from server.steps.lineage import Segment

_COLUMNS = {
    XAxis.SAMPLES: "samples_total",
    XAxis.TOKENS: "tokens_total",
    XAxis.TIME: "ended_at",
    XAxis.RELATIVE: "ended_at",
}
_MICROSECOND_S = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """An x axis other than the step itself. x = column × scale − origin."""

    column: str
    scale: float
    origin: float

    def x(self, stored: Floats) -> Floats:
        return stored * self.scale - self.origin

    def stored(self, x: float) -> float:
        return (x + self.origin) / self.scale


def axis_of(connection: Connection, run_key: int, segments: list[Segment], kind: XAxis) -> Axis | None:
    """The axis; None where x is the step itself."""
    if kind is XAxis.STEP:
        return None
    scale = _MICROSECOND_S if kind in (XAxis.TIME, XAxis.RELATIVE) else 1.0
    origin = _first_start_s(connection, run_key, segments[0]) if kind is XAxis.RELATIVE and segments else 0.0
    return Axis(column=_COLUMNS[kind], scale=scale, origin=origin)


def step_x(connection: Connection, axis: Axis, asked: Range, first: int, end: int) -> tuple[Floats, Floats]:
    """The steps from `first` up to `end`, ascending, and the x of each."""
    query = select(steps.c.step, steps.c[axis.column]).where(*steps_between(asked, first, end)).order_by(steps.c.step)
    step, stored = float_columns(connection, query, 2)
    return step, axis.x(stored)


def rollup_x(connection: Connection, axis: Axis, asked: Range, stretch: Stretch) -> tuple[Floats, Floats]:
    """The buckets of a stretch that hold steps, ascending, and the x of the first step in each."""
    query = select(rollups.c.bucket, rollups.c.first_value)
    query = query.where(*rollups_of(asked, [COLUMN_NUMBERS[axis.column]], stretch)).order_by(rollups.c.bucket)
    bucket, stored = float_columns(connection, query, 2)
    return bucket, axis.x(stored)


def narrowed(
    connection: Connection, axis: Axis, asked: Range, first: float | None, end: float | None
) -> tuple[int, int]:
    """The first step whose x is in [first, end), and the one after the last such step; equal when there is none.

    Where a clock ran backwards, steps in between may lie elsewhere.
    """
    # One unit more on each side: a time that was told as a float must find its step again.
    low = -np.inf if first is None else axis.stored(first) - 1
    high = np.inf if end is None else axis.stored(end) + 1
    found: list[int] = []
    for stretch in asked.stretches(COARSEST):
        begin, stop = _candidates(connection, axis, asked, stretch, float(low), float(high))
        inside = _within(steps.c[axis.column], float(low), float(high))
        query = select(steps.c.step).where(*steps_between(asked, begin, stop), *inside).limit(1)
        for order in (steps.c.step.asc(), steps.c.step.desc()):
            step = connection.scalar(query.order_by(order))
            found += [] if step is None else [step]
    return (min(found), max(found) + 1) if found else (asked.first, asked.first)


def _candidates(
    connection: Connection, axis: Axis, asked: Range, stretch: Stretch, low: float, high: float
) -> tuple[int, int]:
    """A part of the stretch outside of which no step lies in [low, high)."""
    if stretch.num_steps == 1:
        return stretch.first, stretch.end
    query = select(func.min(rollups.c.bucket), func.max(rollups.c.bucket)).where(
        *rollups_of(asked, [COLUMN_NUMBERS[axis.column]], stretch),
        *([] if low == -np.inf else [rollups.c.high >= low]),
        *([] if high == np.inf else [rollups.c.low < high]),
    )
    first, last = connection.execute(query).one()
    if first is None:
        return stretch.first, stretch.first
    return first * stretch.num_steps, (last + 1) * stretch.num_steps


def _within(column: ColumnElement[int], low: float, high: float) -> list[ColumnElement[bool]]:
    # The bounds are plain numbers, whatever the column takes in Python.
    above, below = column >= literal(low, Double), column < literal(high, Double)
    return [*([] if low == -np.inf else [above]), *([] if high == np.inf else [below])]


def _first_start_s(connection: Connection, run_key: int, segment: Segment) -> float:
    """When the first step of a segment began, in seconds since 1970; 0 without steps."""
    query = select(steps.c.started_at).where(
        steps.c.run_key == run_key, steps.c.attempt == segment.attempt, steps.c.step >= segment.first
    )
    started_at = connection.scalar(query.order_by(steps.c.step).limit(1))
    return 0.0 if started_at is None else started_at.timestamp()
