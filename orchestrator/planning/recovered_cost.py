"""The cost model that a stored step was scheduled by, recovered from what its samples were said to cost."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from orchestrator.cost_model import CostModel
from orchestrator.planning.model_shape import BY_TOKENS


def recovered_cost_model(lengths: Sequence[int], costs: Sequence[float]) -> CostModel:
    """The model with cost_i = linear · T_i + quadratic · T_i², from the shortest and the longest sample.

    Samples of one length cannot tell the two parts apart, and a linear model then says the same of all of them. Costs
    that are all 0, as a recorder without a cost model may send them, go by tokens.

    lengths: tokens of each sample; costs: by sample too.
    """
    tokens, cost = np.asarray(lengths, dtype=np.float64), np.asarray(costs, dtype=np.float64)
    short, long = int(tokens.argmin()), int(tokens.argmax())
    if not cost.any():
        return BY_TOKENS
    quadratic = 0.0
    if tokens[short] < tokens[long]:
        per_token = cost / tokens
        slope = (per_token[long] - per_token[short]) / (tokens[long] - tokens[short])
        quadratic = min(max(0.0, float(slope)), float(per_token[long] / tokens[long]))
    linear = max(0.0, float(cost[long] / tokens[long] - quadratic * tokens[long]))
    # A model's shape gives whole numbers of operations: rounding takes back what the divisions blurred, so that equal
    # settings make an equal schedule.
    whole = (float(round(linear)), float(round(quadratic)))
    if sum(whole) > 0 and np.array_equal(whole[0] * tokens + whole[1] * tokens**2, cost):
        return CostModel(linear=whole[0], quadratic=whole[1])
    return CostModel(linear=linear, quadratic=quadratic)
