"""The cost model of the machine itself: a regression on what recent micro-batches took. Pure.

The step runner feeds it under `schedule.cost: measured` and asks it for a model before each step. The same measurements
give the same model; but they are never the same twice, and so neither are the schedules.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import combinations

import numpy as np
import numpy.typing as npt

from orchestrator.costs.cost_model import CostModel
from trainer.contracts.schedule import StepSchedule

# A machine's mood lasts; what is older than so many micro-batches says little of the next ones.
MAX_MEASUREMENTS = 2048
# Fewer say more of the noise than of three unknowns.
MIN_MEASUREMENTS = 64
# Largest ratio of singular values of columns of length one: beyond it noise decides which of them explains the times.
MAX_CONDITION = 100.0
# Of the median deviation, beyond which a measurement counts for nothing (Beaton and Tukey 1974, with the usual 4.685).
OUTLIER_DEVIATIONS = 4.685 * 1.4826
NUM_REWEIGHTINGS = 10

Array = npt.NDArray[np.float64]


class CostCalibration:
    """Measurements of the latest micro-batches."""

    def __init__(self, *, cp: int = 1) -> None:
        """cp: context-parallel ranks that share each sample."""
        self._cp = cp
        # 1, Σ T, Σ T² and seconds of each.
        self._rows: deque[tuple[float, float, float, float]] = deque(maxlen=MAX_MEASUREMENTS)

    def add(self, step: StepSchedule, *, lengths: Sequence[int], micro_batch_s: Sequence[Sequence[float]]) -> None:
        """Take in one step. Dummies say nothing, and a time that is not above 0 was not measured.

        lengths: tokens of each sample, by its index within the step; micro_batch_s: [dp_rank][micro-batch].
        """
        for rank, rank_s in zip(step.micro_batches, micro_batch_s, strict=True):
            for micro_batch, seconds in zip(rank, rank_s, strict=True):
                if micro_batch and 0 < seconds < float("inf"):
                    tokens = [lengths[i] for i in micro_batch]
                    squared = sum(length**2 for length in tokens)
                    self._rows.append((1.0, sum(tokens) / self._cp, squared / self._cp, seconds))

    def model(self, default: CostModel) -> CostModel:
        """The model that the measurements make, in the units of `default`; `default` while they do not say enough.

        Where all micro-batches are about as full, an overhead cannot be told from the cost of tokens, and none is.
        """
        if len(self._rows) < MIN_MEASUREMENTS:
            return default
        *columns, seconds = np.array(self._rows).T
        explained = _explained(np.array(columns).T, seconds)
        if explained is None:
            return default
        overhead, linear, quadratic = explained.tolist()
        if linear + quadratic <= 0:
            return default
        # So that costs stay comparable within a run when the model changes.
        predicted = np.array([default.overhead, default.linear, default.quadratic]) @ np.array(columns)
        unit = float(predicted.sum() / (explained @ np.array(columns)).sum())
        return CostModel(linear=linear * unit, quadratic=quadratic * unit, overhead=overhead * unit)


def _explained(columns: Array, seconds: Array) -> Array | None:
    """Seconds for each unit of the columns, [3], none negative; None: the columns are too much alike.

    columns: [M, 3]; seconds: [M].
    """
    scale = np.linalg.norm(columns, axis=0)
    for first in (0, 1):
        chosen = columns[:, first:] / scale[first:]
        if np.linalg.cond(chosen) <= MAX_CONDITION:
            found = np.zeros(3)
            found[first:] = _robust_fit(chosen, seconds) / scale[first:]
            return found
    return None


def _robust_fit(columns: Array, seconds: Array) -> Array:
    """Least squares of relative deviations, reweighted until those far off, such as first steps, have no say."""
    # Relative to what was measured, a slow outlier is off by less than 1 at first, however slow.
    weights = 1 / seconds
    found = _non_negative_fit(columns * weights[:, None], seconds * weights)
    for _ in range(NUM_REWEIGHTINGS):
        predicted = np.maximum(columns @ found, np.finfo(np.float64).tiny)
        off = np.abs(seconds / predicted - 1)
        reach = OUTLIER_DEVIATIONS * max(float(np.median(off)), np.finfo(np.float64).eps)
        weights = np.maximum(0.0, 1 - (off / reach) ** 2) / predicted
        found = _non_negative_fit(columns * weights[:, None], seconds * weights)
    return found


def _non_negative_fit(columns: Array, wanted: Array) -> Array:
    """The x ≥ 0 with the least |columns · x − wanted|²: with so few columns, the best subset with no negative part."""
    num_columns = columns.shape[1]
    best, least = np.zeros(num_columns), float(wanted @ wanted)
    for size in range(1, num_columns + 1):
        for subset in map(list, combinations(range(num_columns), size)):
            part = np.linalg.lstsq(columns[:, subset], wanted, rcond=None)[0]
            miss = wanted - columns[:, subset] @ part
            if part.min() >= 0 and (squared := float(miss @ miss)) < least:
                best, least = np.zeros(num_columns), squared
                best[subset] = part
    return best
