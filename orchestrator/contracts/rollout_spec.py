"""How prompts become judged rollouts, and which of them are trained. Blocks of the RunSpec."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field, PositiveFloat, PositiveInt

from trainer.contracts.text_model import TextModel


class TransformersEngineSpec(TextModel):
    """Generation with transformers, in processes of the run itself."""

    type: Literal["transformers"] = "transformers"
    replicas: PositiveInt = 1
    """Engines that share the prompts of an iteration."""


class RolloutSpec(TextModel):
    """How prompts become rollouts."""

    engine: TransformersEngineSpec = TransformersEngineSpec()
    """What generates."""
    group_size: PositiveInt
    """Rollouts of each prompt, compared with each other for their advantages."""
    max_new_tokens: PositiveInt
    """Longest response; a rollout that reaches it is truncated."""
    temperature: PositiveFloat = 1.0
    """Of sampling during training; measurements are greedy."""
    mode: Literal["sync"] = "sync"
    """`sync`: generate, then train, in turns."""


class ReasoningGymRewardSpec(TextModel):
    """The task's own verifier. Only a right answer scores: its partial credit can be had without solving anything."""

    type: Literal["reasoning_gym"]
    weight: PositiveFloat = 1.0
    """Its share when several rewards are added."""
    threshold: Annotated[float, Field(gt=0.0, le=1.0)] = 1.0
    """A verifier's score below it counts as 0, one at or above it as 1."""


class ZeroVariancePolicy(StrEnum):
    """What happens to a group whose rewards are all equal, so that no advantage is left in it."""

    EXCLUDE = "exclude"
    """Left out of the step: neither trained nor counted in any denominator."""
    INCLUDE = "include"
    """Trained with advantage 0 and counted in the denominators."""


class FilterSpec(TextModel):
    """Which groups are trained."""

    zero_variance: ZeroVariancePolicy = ZeroVariancePolicy.EXCLUDE
    """What happens to a group whose rewards are all equal."""
    max_refills: Annotated[int, Field(ge=0)] = 0
    """How often an iteration in which no group survived is rolled out again, with new prompts."""
    max_consecutive_empty: PositiveInt = 5
    """After so many iterations in a row without a surviving group the run fails and says so."""
