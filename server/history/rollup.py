"""Sums up series over stretches of steps, weighted, with extremes and what is not finite. Pure NumPy.

Rollups of rollups equal rollups of the points, up to rounding: sizes divide each other.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from server.database.tables import PointKind
from server.history.buckets import Floats, reduced, summed_weight
from trainer.contracts.metric import Reduction


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollups:
    """Rollups of many series in columns of equal length, in the order of the table; NaN: null.

    Steps and counts are whole numbers up to 2^53, which a float holds exactly.
    """

    series: Floats
    bucket: Floats
    num_points: Floats
    first_step: Floats
    last_step: Floats
    first_finite_step: Floats
    last_finite_step: Floats
    value: Floats
    weight: Floats
    low: Floats
    high: Floats
    first_value: Floats
    last_value: Floats
    nan_step: Floats
    positive_infinity_step: Floats
    negative_infinity_step: Floats

    @classmethod
    def of_points(cls, *, series: Floats, step: Floats, value: Floats, kind: Floats, weight: Floats) -> Rollups:
        """Each measured point as a rollup of its own."""
        finite = kind == PointKind.FINITE
        value = np.where(finite, value, np.nan)
        finite_step = np.where(finite, step, np.nan)
        return cls(
            series=series,
            bucket=step,
            num_points=np.ones(step.size),
            first_step=step,
            last_step=step,
            first_finite_step=finite_step,
            last_finite_step=finite_step,
            value=value,
            weight=np.where(finite, weight, 0.0),
            low=value,
            high=value,
            first_value=value,
            last_value=value,
            nan_step=np.where(kind == PointKind.NAN, step, np.nan),
            positive_infinity_step=np.where(kind == PointKind.POSITIVE_INFINITY, step, np.nan),
            negative_infinity_step=np.where(kind == PointKind.NEGATIVE_INFINITY, step, np.nan),
        )

    def take(self, chosen: npt.NDArray[np.bool_] | npt.NDArray[np.intp]) -> Rollups:
        return Rollups(**{field.name: getattr(self, field.name)[chosen] for field in fields(self)})


def roll_up(parts: Rollups, factor: int, reductions: dict[int, Reduction]) -> Rollups:
    """One rollup for each series and each `factor` buckets of the parts that hold a point.

    reductions: how each of the series is reduced.
    """
    if parts.series.size == 0:
        return parts
    bucket = np.floor_divide(parts.bucket, factor)
    order = np.lexsort((parts.first_step, bucket, parts.series))
    parts, bucket = parts.take(order), bucket[order]
    is_new = np.r_[True, (bucket[1:] != bucket[:-1]) | (parts.series[1:] != parts.series[:-1])]
    starts = np.flatnonzero(is_new)
    group = np.cumsum(is_new) - 1
    finite = ~np.isnan(parts.first_finite_step)
    return Rollups(
        series=parts.series[starts],
        bucket=bucket[starts],
        num_points=np.add.reduceat(parts.num_points, starts),
        first_step=np.minimum.reduceat(parts.first_step, starts),
        last_step=np.maximum.reduceat(parts.last_step, starts),
        nan_step=np.fmin.reduceat(parts.nan_step, starts),
        positive_infinity_step=np.fmin.reduceat(parts.positive_infinity_step, starts),
        negative_infinity_step=np.fmin.reduceat(parts.negative_infinity_step, starts),
        **_finite_columns(parts.take(finite), group[finite], starts.size, reductions),
    )


def _finite_columns(
    parts: Rollups, group: npt.NDArray[np.intp], num_groups: int, reductions: dict[int, Reduction]
) -> dict[str, Floats]:
    """What finite values decide, for every group; NaN, and weight 0, where a group has none."""
    names = ("first_finite_step", "last_finite_step", "value", "low", "high", "first_value", "last_value")
    columns = {name: np.full(num_groups, np.nan) for name in names} | {"weight": np.zeros(num_groups)}
    if group.size == 0:
        return columns
    starts = np.flatnonzero(np.r_[True, group[1:] != group[:-1]])
    ends = np.r_[starts[1:], group.size] - 1
    filled = group[starts]
    low, high = np.minimum.reduceat(parts.low, starts), np.maximum.reduceat(parts.high, starts)
    columns["low"][filled], columns["high"][filled] = low, high
    columns["weight"][filled] = summed_weight(parts.weight, starts)
    columns["first_value"][filled], columns["last_value"][filled] = parts.first_value[starts], parts.last_value[ends]
    columns["first_finite_step"][filled] = parts.first_finite_step[starts]
    columns["last_finite_step"][filled] = parts.last_finite_step[ends]
    declared = np.array([list(Reduction).index(reductions[int(series)]) for series in parts.series[starts]])
    for i, reduction in enumerate(Reduction):
        if (declared == i).any():
            value = reduced(parts.value, parts.weight, starts, ends, reduction, low, high)
            columns["value"][filled[declared == i]] = value[declared == i]
    return columns
