"""Advantages and the policy loss. A block of the RunSpec."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field, PositiveInt

from trainer.contracts.certificate import LossAggregation
from trainer.contracts.text_model import NonNegativeFraction, TextModel


class AdvantageEstimator(StrEnum):
    """How rewards of a group become advantages."""

    GRPO = "grpo"
    """Reward minus the group's mean, divided by the group's standard deviation (Shao et al. 2024, section 4.1.2)."""
    DR_GRPO = "dr_grpo"
    """Reward minus the group's mean, undivided (Liu et al. 2025): easy and hard prompts weigh alike."""


class AlgorithmSpec(TextModel):
    """Advantages and the policy loss."""

    advantage: AdvantageEstimator = AdvantageEstimator.GRPO
    """How rewards become advantages."""
    loss: Literal["clipped"] = "clipped"
    """The policy loss."""
    clip_low: NonNegativeFraction = 0.2
    """The probability ratio is clipped below 1 − clip_low."""
    clip_high: Annotated[float, Field(ge=0.0)] = 0.28
    """The probability ratio is clipped above 1 + clip_high."""
    loss_aggregation: LossAggregation = LossAggregation.ROLLOUT_MEAN
    """How the token losses of a step become one number."""
    constant_tokens: PositiveInt | None = None
    """Divisor of `loss_aggregation: constant`; None: rollout.max_new_tokens."""
