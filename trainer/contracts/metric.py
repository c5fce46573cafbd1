"""A metric is a typed value that knows how to reduce: the reduction is declared with it, never guessed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum


class Reduction(StrEnum):
    """How values of one metric from several micro-batches, ranks or steps become one."""

    MEAN = "mean"
    """Σ sum / Σ count: the mean over everything that was counted, however it was spread."""
    SUM = "sum"
    MAX = "max"
    MIN = "min"
    LAST = "last"
    """The newest value, for what all ranks agree on, such as the learning rate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """A value with the weight that stands behind it.

    For MEAN `total` is the sum and `count` the number of things summed (tokens, rollouts, ...); for the others `total`
    is the value itself and `count` says how many things it summarises. count = 0 means that there was nothing to
    measure: the value is None, never 0 and never NaN.
    """

    reduction: Reduction
    total: float
    count: float = 1.0

    def __post_init__(self) -> None:
        if not (math.isfinite(self.count) and self.count >= 0):
            raise ValueError(f"count={self.count} must be finite and at least 0")

    @property
    def value(self) -> float | None:
        if self.count == 0:
            return None
        return self.total / self.count if self.reduction is Reduction.MEAN else self.total

    def __add__(self, other: Metric) -> Metric:
        """Merge two measurements of the same metric; one without data changes nothing.

        >>> clipped = Metric(reduction=Reduction.MEAN, total=3, count=12)
        >>> (clipped + Metric(reduction=Reduction.MEAN, total=3, count=4)).value
        0.375
        """
        if self.reduction is not other.reduction:
            raise ValueError(f"cannot merge {self.reduction} with {other.reduction}")
        if other.count == 0:
            return self
        if self.count == 0:
            return other
        match self.reduction:
            case Reduction.MEAN | Reduction.SUM:
                total = self.total + other.total
            case Reduction.MAX:
                total = _nan_or(max, self.total, other.total)
            case Reduction.MIN:
                total = _nan_or(min, self.total, other.total)
            case Reduction.LAST:
                total = other.total
        return Metric(reduction=self.reduction, total=total, count=self.count + other.count)


def mean(total: float, count: float) -> Metric:
    """A mean by its sum and the weight behind it; count 0 has no value."""
    return Metric(reduction=Reduction.MEAN, total=total, count=count)


def last(value: float) -> Metric:
    """A value of which the newest counts."""
    return Metric(reduction=Reduction.LAST, total=value)


def merge_metrics(parts: Iterable[Mapping[str, Metric]]) -> dict[str, Metric]:
    """Merge the metrics of many micro-batches or ranks by name. A name may be missing in some of them."""
    merged: dict[str, Metric] = {}
    for part in parts:
        for name, metric in part.items():
            merged[name] = merged[name] + metric if name in merged else metric
    return merged


def _nan_or(choose: Callable[[float, float], float], left: float, right: float) -> float:
    # max(1.0, nan) is 1.0 but max(nan, 1.0) is nan: a NaN must survive whatever side it came from.
    return math.nan if math.isnan(left) or math.isnan(right) else choose(left, right)
