"""What one trainer is told: its model and layout, and the phases that it goes through one after the other."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from trainer.contracts.loss_spec import LossSpec
from trainer.contracts.model_spec import ModelSpec
from trainer.contracts.optimizer_spec import OptimizerSpec
from trainer.contracts.parallelism_spec import ParallelismSpec, check_layout
from trainer.contracts.text_model import TextModel


class PhaseSpec(TextModel):
    """What one stretch of training optimises. A new phase keeps the weights and begins optimizer and LR anew."""

    optimizer: OptimizerSpec
    loss: LossSpec
    measure_noise: bool = False
    """Whether each record holds the norms of the ranks' own gradients (`StepRecord.noise`); off, it costs nothing."""


class TrainerSpec(TextModel):
    """One trainer: a model under one layout. The phases it goes through come later, one at a time."""

    model: ModelSpec
    parallelism: ParallelismSpec
    seed: Annotated[int, Field(ge=0, lt=2**31)]

    @model_validator(mode="after")
    def _layout_fits_model(self) -> Self:
        check_layout(self.model, self.parallelism)
        return self
