"""Points and rollups of one series within one segment, each with its x. Read for `service.py`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields

import numpy as np
from sqlalchemy import Connection

from server.database.tables import PointKind
from server.history import axes, queries
from server.history.buckets import Columns, Floats
from server.history.queries import MetricRef, Range, RollupColumns
from server.history.stretches import Stretch
from trainer.contracts.metric import Reduction

_NonFinite = tuple[float, int, int]
"""x, step, kind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """What one segment has of one series."""

    columns: Columns
    """Finite values, by ascending step."""
    non_finite: tuple[_NonFinite, ...]
    """By ascending step. Of rollups, the first of each kind."""

    @property
    def num_points(self) -> int:
        """As long as no rollup is among them."""
        return int(self.columns.x.size) + len(self.non_finite)

    def x_range(self) -> list[float]:
        """First and last x; empty without points."""
        x = [*self.columns.x.tolist(), *(x for x, _, _ in self.non_finite)]
        return [min(x), max(x)] if x else []


class PartReader:
    """Reads the series of one query. Several series of a run lie on the same x, which is read once."""

    def __init__(
        self, connection: Connection, axis: axes.Axis | None, *, first: float | None, end: float | None
    ) -> None:
        """axis: None where x is the step. first, end: the range of x that was asked for."""
        self._connection = connection
        self._axis = axis
        self._low = -np.inf if first is None else first
        self._high = np.inf if end is None else end
        self._known: dict[tuple[int, bool, Stretch], tuple[Floats, Floats]] = {}

    def points(self, asked: Range, metric: MetricRef) -> Part:
        """Every point of the range."""
        return self._of_points(asked, metric, Stretch(first=asked.first, end=asked.end, num_steps=1))

    def rollups(self, asked: Range, metric: MetricRef, reduction: Reduction, *, coarsest: int) -> Part:
        """The range by rollups of at most `coarsest` steps; its edges, and what is not rolled up yet, by points.

        reduction: LAST takes the last value of each rollup, whatever the metric declares.
        """
        parts = [
            self._of_points(asked, metric, stretch)
            if stretch.num_steps == 1
            else self._of_rollups(asked, metric, reduction, stretch)
            for stretch in asked.stretches(coarsest)
        ]
        return _joined(parts)

    def _of_points(self, asked: Range, metric: MetricRef, stretch: Stretch) -> Part:
        found = queries.point_columns(self._connection, asked, metric, stretch.first, stretch.end)
        kept, x = self._x(asked, stretch, found.step)
        step, value, kind, weight = (column[kept] for column in (found.step, found.value, found.kind, found.weight))
        finite = kind == PointKind.FINITE
        columns = Columns(
            x=x[finite],
            step=step[finite],
            last_step=step[finite],
            value=value[finite],
            weight=weight[finite],
            low=value[finite],
            high=value[finite],
        )
        odd = np.flatnonzero(~finite)
        return Part(columns=columns, non_finite=tuple((float(x[i]), int(step[i]), int(kind[i])) for i in odd))

    def _of_rollups(self, asked: Range, metric: MetricRef, reduction: Reduction, stretch: Stretch) -> Part:
        found = queries.rollup_columns(self._connection, asked, metric, stretch)
        if self._axis is None:
            kept, x = np.ones(found.bucket.size, dtype=bool), found.first_finite_step
        else:
            kept, x = self._x(asked, stretch, found.bucket)
        found = RollupColumns(**{field.name: getattr(found, field.name)[kept] for field in fields(found)})
        finite = ~np.isnan(found.first_finite_step)
        value = found.last_value if reduction is Reduction.LAST else found.value
        columns = Columns(
            x=x[finite],
            step=found.first_finite_step[finite],
            last_step=found.last_finite_step[finite],
            value=value[finite],
            weight=found.weight[finite],
            low=found.low[finite],
            high=found.high[finite],
        )
        return Part(columns=columns, non_finite=tuple(sorted(self._odd(found, x), key=lambda odd: odd[1])))

    def _odd(self, found: RollupColumns, x: Floats) -> Iterator[_NonFinite]:
        for kind, at in (
            (PointKind.NAN, found.nan_step),
            (PointKind.POSITIVE_INFINITY, found.positive_infinity_step),
            (PointKind.NEGATIVE_INFINITY, found.negative_infinity_step),
        ):
            for i in np.flatnonzero(~np.isnan(at)):
                yield float(at[i] if self._axis is None else x[i]), int(at[i]), int(kind)

    def _x(self, asked: Range, stretch: Stretch, place: Floats) -> tuple[np.ndarray, Floats]:
        """Which entries lie in the range of x, and the x of these. place: their step, or the bucket of a rollup."""
        if self._axis is None:
            return np.ones(place.size, dtype=bool), place
        known = (asked.segment.attempt, asked.segment.superseded, stretch)
        if known not in self._known:
            self._known[known] = (
                axes.step_x(self._connection, self._axis, asked, stretch.first, stretch.end)
                if stretch.num_steps == 1
                else axes.rollup_x(self._connection, self._axis, asked, stretch)
            )
        places, x = self._known[known]
        # Time may run backwards on a driver's clock: then steps between two of the range lie outside of it.
        inside = (x >= self._low) & (x < self._high)
        places, x = places[inside], x[inside]
        kept = np.isin(place, places)
        return kept, x[np.searchsorted(places, place[kept])]


def _joined(parts: Sequence[Part]) -> Part:
    columns = {
        field.name: np.concatenate([getattr(part.columns, field.name) for part in parts] or [np.empty(0)])
        for field in fields(Columns)
    }
    return Part(columns=Columns(**columns), non_finite=tuple(odd for part in parts for odd in part.non_finite))
