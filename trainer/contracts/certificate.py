"""The proof of a step's loss weights: exact fractions, their sum, a hash.

The orchestrator makes certificates (`orchestrator/loss_weights.py`); the server adds the fractions again when a step
arrives; the dashboard shows the result as a tick.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

_LONGEST_DENOMINATOR = 10**40
"""Longer ones say nothing to a reader."""


class LossAggregation(StrEnum):
    """How the token losses of a step become one number. Every choice is the same for any split into micro-batches."""

    TOKEN_MEAN = "token_mean"
    """Every loss token of the step weighs the same."""
    SAMPLE_MEAN = "sample_mean"
    """Every sample weighs the same; within it, its loss tokens do."""
    ROLLOUT_MEAN = "rollout_mean"
    """Every rollout weighs the same; the samples of one rollout share its token total."""
    PROMPT_MEAN = "prompt_mean"
    """Every prompt weighs the same; within it, all loss tokens of its rollouts do."""
    CONSTANT = "constant"
    """Token losses are summed and divided by samples × a constant (Dr.GRPO, Liu et al. 2025): no length bias."""

    @property
    def sums_to_one(self) -> bool:
        return self is not LossAggregation.CONSTANT


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """The exact loss weight of each sample of one step.

    `weights[i]` is the share of the step's loss that sample i has in all: w_i · num_loss_tokens_i, where w_i is its
    weight per loss token. A sample without loss tokens has 0. Except under `constant`, the weights sum to exactly 1.

    Two steps with the same samples have the same hash, whatever ranks and micro-batches the samples went to.
    """

    loss_aggregation: LossAggregation
    sample_ids: tuple[str, ...]
    weights: tuple[Fraction, ...]

    def __post_init__(self) -> None:
        if len(self.sample_ids) != len(self.weights):
            raise ValueError(f"{len(self.sample_ids)} sample_ids but {len(self.weights)} weights")
        if len(set(self.sample_ids)) != len(self.sample_ids):
            raise ValueError("a sample_id appears twice in the certificate")

    @property
    def total(self) -> Fraction:
        """Exact sum of the weights.

        Equal denominators are added as integers and the rest in pairs: a running sum over shuffled samples would carry
        a common denominator of all rollouts of which it has seen a part, thousands of digits long.
        """
        numerators: dict[int, int] = {}
        for weight in self.weights:
            numerators[weight.denominator] = numerators.get(weight.denominator, 0) + weight.numerator
        sums = [Fraction(numerator, denominator) for denominator, numerator in sorted(numerators.items())]
        while len(sums) > 1:
            odd = sums[len(sums) // 2 * 2 :]
            sums = [left + right for left, right in zip(sums[0::2], sums[1::2], strict=False)] + odd
        return sums[0] if sums else Fraction(0)

    @property
    def sha256(self) -> str:
        """Hash over the aggregation and the (sample_id, weight) pairs in the order of their ids."""
        lines = sorted(f"{sample_id} {weight}" for sample_id, weight in zip(self.sample_ids, self.weights, strict=True))
        return hashlib.sha256("\n".join([self.loss_aggregation, *lines]).encode()).hexdigest()

    def problem(self) -> str | None:
        """Why the certificate doesn't hold, in one sentence, or None when it does.

        A step without any loss token has the total 0: there is nothing to weigh, and the trainer skips it.
        """
        if any(weight < 0 for weight in self.weights):
            return "a weight is negative"
        if self.loss_aggregation.sums_to_one and (total := self.total) not in (0, 1):
            return f"the weights sum to {_shortened(total)}, not to 1"
        return None


def _shortened(total: Fraction) -> str:
    """The sum in words: many unlike denominators make one of more digits than Python would print."""
    return str(total) if total.denominator < _LONGEST_DENOMINATOR else f"about {float(total):.17g}"
