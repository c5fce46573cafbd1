"""The cost model that a stored step was scheduled by, recovered from what its samples were said to cost."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

import numpy as np
import numpy.typing as npt

from orchestrator.contracts.messages import ScheduleMessage
from orchestrator.costs.cost_model import CostModel
from orchestrator.planning.model_shape import BY_TOKENS

_DIGITS = 12
"""Of a coefficient: a double has 16, and recovering it costs some."""
_TOLERANCE = 1e-11


def recovered_cost_model(schedule: ScheduleMessage) -> CostModel:
    """The model with cost_i = linear · T_i + quadratic · T_i² and the overhead that micro-batches have beyond that.

    Samples of one length cannot tell the two parts apart, and a linear model then says the same of all of them. Costs
    that are all 0, as a recorder without a cost model may send them, go by tokens.
    """
    # What is stored is the part of one context-parallel rank.
    cost = np.asarray(schedule.sample_cost, dtype=np.float64) * schedule.cp
    if not cost.any():
        return BY_TOKENS
    tokens = np.asarray(schedule.samples.num_tokens, dtype=np.float64)
    linear, quadratic = _unblurred(*_coefficients(tokens, cost), tokens, cost)
    return CostModel(linear=linear, quadratic=quadratic, overhead=_overhead(schedule))


def _coefficients(tokens: npt.NDArray[np.float64], cost: npt.NDArray[np.float64]) -> tuple[float, float]:
    """Linear and quadratic part, from the shortest and the longest sample."""
    short, long = int(tokens.argmin()), int(tokens.argmax())
    per_token = cost / tokens
    quadratic = 0.0
    if tokens[short] < tokens[long]:
        slope = (per_token[long] - per_token[short]) / (tokens[long] - tokens[short])
        quadratic = min(max(0.0, float(slope)), float(per_token[long] / tokens[long]))
    return max(0.0, float(per_token[long] - quadratic * tokens[long])), quadratic


def _unblurred(
    linear: float, quadratic: float, tokens: npt.NDArray[np.float64], cost: npt.NDArray[np.float64]
) -> tuple[float, float]:
    """Take back what the divisions blurred, so that equal settings make an equal schedule.

    A model's shape gives whole numbers of operations.
    """
    for rounded in ((float(round(linear)), float(round(quadratic))), (_short(linear), _short(quadratic))):
        if sum(rounded) > 0 and np.allclose(
            rounded[0] * tokens + rounded[1] * tokens**2, cost, rtol=_TOLERANCE, atol=0
        ):
            return rounded
    return linear, quadratic


def _short(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")


def _overhead(schedule: ScheduleMessage) -> float:
    """What each real micro-batch was predicted to cost beside its samples."""
    beyond = np.array(list(_beyond_samples(schedule)))
    overhead = float(np.median(beyond)) if beyond.size else 0.0
    # Sums in another order differ in the last digits.
    return _short(overhead) if overhead > _TOLERANCE * max(schedule.sample_cost) else 0.0


def _beyond_samples(schedule: ScheduleMessage) -> Iterator[float]:
    micro_batches = chain.from_iterable(schedule.micro_batches)
    for micro_batch, predicted in zip(micro_batches, chain.from_iterable(schedule.predicted_cost), strict=True):
        if micro_batch:
            yield predicted - sum([schedule.sample_cost[i] for i in micro_batch])
