"""Optimizer and learning-rate schedule. A block of the RunSpec."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal, Self, TypeAlias

from pydantic import Field, model_validator

from trainer.contracts.text_model import FieldError, NonNegativeFraction, TextModel

MAX_POSITION = 2**53 - 1
"""Beyond it neither a float nor a browser counts every sample."""
# Far above what trains anything, and far below where its product with a position or a gradient overflows.
LearningRate: TypeAlias = Annotated[float, Field(gt=0.0, le=1e3)]
Decay: TypeAlias = Annotated[float, Field(ge=0.0, le=1e3)]


class LrUnit(StrEnum):
    """What the learning-rate schedule counts."""

    SAMPLES = "samples"
    """Trained samples: a step advances it by its own global_batch_size."""
    TOKENS = "tokens"
    """Trained tokens, prompts included: a step advances it by its own num_tokens."""
    STEPS = "steps"
    """Optimizer updates: a step advances it by one, whatever its size."""


class LrScheduleSpec(TextModel):
    """The learning rate as a function of the position; warm-up first, then decay to `min_lr_frac` of the peak."""

    style: Literal["constant", "linear", "cosine"] = "constant"
    """Shape of the decay after the warm-up."""
    warmup: Annotated[int, Field(ge=0, le=MAX_POSITION)] = 0
    """Length of the linear warm-up from 0, in `unit`."""
    decay: Annotated[int, Field(ge=1, le=MAX_POSITION)] | None = None
    """Position at which the decay ends, in `unit`; needed unless the style is constant."""
    min_lr_frac: Annotated[float, Field(ge=0.0, le=1.0)] = 0.0
    """The learning rate after the decay, as a fraction of `optimizer.lr`."""
    unit: LrUnit = LrUnit.SAMPLES
    """What `warmup` and `decay` count."""

    @model_validator(mode="after")
    def _decay_follows_warmup(self) -> Self:
        if self.style == "constant":
            return self
        if self.decay is None:
            raise FieldError(
                f"style={self.style!r} needs decay: the position, in {self.unit}, where the decay ends", "decay"
            )
        if self.decay <= self.warmup:
            raise FieldError(f"decay={self.decay} must be greater than warmup={self.warmup}", "decay", "warmup")
        return self


class OptimizerSpec(TextModel):
    """Adam with decoupled weight decay (AdamW), as Megatron-Core has it."""

    type: Literal["adam"] = "adam"
    lr: LearningRate
    """The learning rate at the end of the warm-up."""
    lr_schedule: LrScheduleSpec = LrScheduleSpec()
    """How the learning rate moves; constant unless said."""
    clip_grad: Annotated[float, Field(ge=0.0, le=1e9)] = 1.0
    """Largest norm of the whole gradient; 0 leaves it unclipped."""
    weight_decay: Decay = 0.0
    """Decoupled weight decay per update, times the learning rate."""
    beta1: NonNegativeFraction = 0.9
    """Decay of Adam's first moment."""
    beta2: NonNegativeFraction = 0.95
    """Decay of Adam's second moment."""
    eps: Annotated[float, Field(gt=0.0, le=1.0)] = 1e-8
    """Added to Adam's denominator."""
