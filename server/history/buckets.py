"""Many points into few: buckets aligned to absolute x, weighted, with minimum and maximum. Pure NumPy.

A bucket's edges depend on its width alone, and widths are powers of two: the same points fall into the same bucket
whatever range is asked for, so that a picture does not flicker while it grows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from trainer.contracts.metric import Reduction

Floats = npt.NDArray[np.float64]
LARGEST = float(np.finfo(np.float64).max)
"""Sums stop here: infinity is told apart from numbers everywhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """Points or rollups of one series, or buckets of them, by ascending step; all arrays have the same length."""

    x: Floats
    step: Floats
    """Whole numbers up to 2^53, which a float holds exactly."""
    last_step: Floats
    value: Floats
    weight: Floats
    low: Floats
    high: Floats


def points(*, x: Floats, step: Floats, value: Floats, weight: Floats) -> Columns:
    """Points as they are: each is a bucket of its own."""
    return Columns(x=x, step=step, last_step=step, value=value, weight=weight, low=value, high=value)


def bucket_width(low: float, high: float, max_buckets: int) -> float:
    """The smallest power of two with which the range touches at most that many buckets.

    >>> bucket_width(0, 19_999, 1000)
    32.0
    """
    if high <= low:
        return 1.0
    width = 2.0 ** math.floor(math.log2((high - low) / max_buckets))
    while math.floor(high / width) - math.floor(low / width) + 1 > max_buckets:
        width *= 2
    return width


def into_buckets(columns: Columns, width: float, reduction: Reduction) -> Columns:
    """One column entry for each bucket that holds a point, by ascending x. A bucket is shown at its first point's x."""
    if columns.x.size == 0:
        return columns
    bucket = np.floor(columns.x / width)
    order = np.argsort(bucket, kind="stable")
    bucket, x, step, last_step, value, weight = (
        array[order] for array in (bucket, columns.x, columns.step, columns.last_step, columns.value, columns.weight)
    )
    starts = np.flatnonzero(np.r_[True, bucket[1:] != bucket[:-1]])
    ends = np.r_[starts[1:], bucket.size] - 1
    low, high = np.minimum.reduceat(columns.low[order], starts), np.maximum.reduceat(columns.high[order], starts)
    return Columns(
        x=x[starts],
        step=step[starts],
        last_step=last_step[ends],
        value=reduced(value, weight, starts, ends, reduction, low, high),
        weight=summed_weight(weight, starts),
        low=low,
        high=high,
    )


def summed_weight(weight: Floats, starts: npt.NDArray[np.intp]) -> Floats:
    """The sum from each start to the next, or the largest number there is."""
    with np.errstate(over="ignore"):
        return np.minimum(np.add.reduceat(weight, starts), LARGEST)


def _exponent(array: Floats) -> npt.NDArray[np.intc]:
    """The power of two just above each value."""
    return np.frexp(array)[1]


def reduced(
    value: Floats,
    weight: Floats,
    starts: npt.NDArray[np.intp],
    ends: npt.NDArray[np.intp],
    reduction: Reduction,
    low: Floats,
    high: Floats,
) -> Floats:
    """What the entries from each start to its end come to; low and high are their extremes."""
    match reduction:
        case Reduction.MEAN:
            # A mean cannot overflow, but value · weight and the sum of such products can: powers of two, which round
            # nothing, bring both factors to at most 1 and back. Rounding must not leave [low, high] either.
            shared = _exponent(np.maximum.reduceat(weight, starts))
            relative = np.ldexp(weight, -np.repeat(shared, ends - starts + 1))
            size = _exponent(np.maximum(np.abs(low), np.abs(high)))
            scaled = np.ldexp(value, -np.repeat(size, ends - starts + 1))
            mean = np.add.reduceat(scaled * relative, starts) / np.add.reduceat(relative, starts)
            return np.ldexp(np.clip(mean, np.ldexp(low, -size), np.ldexp(high, -size)), size)
        case Reduction.SUM:
            with np.errstate(over="ignore", invalid="ignore"):
                return np.nan_to_num(np.add.reduceat(value, starts), nan=0.0, posinf=LARGEST, neginf=-LARGEST)
        case Reduction.MAX:
            return high
        case Reduction.MIN:
            return low
        case Reduction.LAST:
            return value[ends]
