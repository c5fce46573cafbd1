"""The losses that a phase may optimise, told apart by `type`."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import Field, PositiveFloat

from trainer.contracts.text_model import NonNegativeFraction, TextModel


class SftLossSpec(TextModel):
    """Negative log-likelihood of the tokens under the loss mask."""

    type: Literal["sft"] = "sft"


class ClippedLossSpec(TextModel):
    """PPO's clipped surrogate (Schulman et al. 2017, eq. 7) with an upper bound of its own (DAPO's clip-higher)."""

    type: Literal["clipped"] = "clipped"
    clip_low: NonNegativeFraction = 0.2
    """The probability ratio is clipped below 1 − clip_low."""
    clip_high: Annotated[float, Field(ge=0.0)] = 0.28
    """The probability ratio is clipped above 1 + clip_high."""
    temperature: PositiveFloat = 1.0
    """Logits are divided by it, as the engine did when it sampled; otherwise the two log-probs could not agree."""


LossSpec: TypeAlias = Annotated[SftLossSpec | ClippedLossSpec, Field(discriminator="type")]
