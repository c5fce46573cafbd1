"""What one trainer is told: its model and layout, and the phases that it goes through one after the other."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from trainer.contracts.loss_spec import LossSpec, PolicyLossSpec
from trainer.contracts.model_spec import ModelSpec
from trainer.contracts.optimizer_spec import OptimizerSpec
from trainer.contracts.parallelism_spec import ParallelismSpec, check_layout
from trainer.contracts.text_model import FieldError, TextModel


class PhaseSpec(TextModel):
    """What one stretch of training optimises. A new phase keeps the weights and begins optimizer and LR anew."""

    optimizer: OptimizerSpec
    loss: LossSpec
    keeps_reference: bool = False
    """Whether the weights at the phase's beginning are kept frozen, so that `log_probs` can ask the reference."""
    measure_noise: bool = False
    """Whether each record holds the norms of the ranks' own gradients (`StepRecord.noise`); off, it costs nothing."""

    @model_validator(mode="after")
    def _kl_has_a_reference(self) -> Self:
        if isinstance(self.loss, PolicyLossSpec) and self.loss.kl is not None and not self.keeps_reference:
            raise FieldError(
                "loss.kl measures the distance to a reference; set keeps_reference", "loss.kl", "keeps_reference"
            )
        return self


class TrainerSpec(TextModel):
    """One trainer: a model under one layout. The phases it goes through come later, one at a time."""

    model: ModelSpec
    parallelism: ParallelismSpec
    seed: Annotated[int, Field(ge=0, lt=2**31)]

    @model_validator(mode="after")
    def _layout_fits_model(self) -> Self:
        check_layout(self.model, self.parallelism)
        return self
