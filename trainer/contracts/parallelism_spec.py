"""How the trainer's ranks are laid out, and whether a model can be cut that way. A block of the RunSpec."""

from __future__ import annotations

from typing import Self

from pydantic import PositiveInt, model_validator

from trainer.contracts.model_spec import ModelSpec, ScratchModelSpec
from trainer.contracts.text_model import FieldError, TextModel


class ParallelismSpec(TextModel):
    """How the trainer's ranks are laid out. One rank is one process."""

    dp: PositiveInt = 1
    """Data-parallel size: copies of the model, each training its own part of every step."""
    tp: PositiveInt = 1
    """Tensor-parallel size: ranks that share each layer."""
    pp: PositiveInt = 1
    """Pipeline-parallel size: ranks that hold consecutive groups of layers."""
    num_ranks: PositiveInt | None = None
    """Check only: when given, dp × tp × pp must equal it."""

    @property
    def world_size(self) -> int:
        """Number of Megatron ranks."""
        return self.dp * self.tp * self.pp

    @model_validator(mode="after")
    def _fills_the_ranks(self) -> Self:
        if self.num_ranks is None or self.num_ranks == self.world_size:
            return self
        if self.num_ranks % self.dp:
            raise FieldError(
                f"dp={self.dp} does not divide num_ranks={self.num_ranks}; change dp or num_ranks", "dp", "num_ranks"
            )
        raise FieldError(
            f"dp × tp × pp = {self.dp} × {self.tp} × {self.pp} = {self.world_size} but num_ranks={self.num_ranks}; "
            "make them equal or leave num_ranks out",
            "dp",
            "tp",
            "pp",
            "num_ranks",
        )


def check_layout(model: ModelSpec, parallelism: ParallelismSpec) -> None:
    """Raise a FieldError when the model cannot be cut as the layout asks.

    A Hugging Face model is not judged here: its shape is known when its config.json is read.
    """
    if not isinstance(model, ScratchModelSpec):
        return
    for axis, size, field, count in (
        ("tp", parallelism.tp, "num_attention_heads", model.num_attention_heads),
        ("tp", parallelism.tp, "num_query_groups", model.num_query_groups),
        ("tp", parallelism.tp, "ffn_hidden_size", model.ffn_hidden_size),
        ("pp", parallelism.pp, "num_layers", model.num_layers),
    ):
        if count % size:
            raise FieldError(
                f"parallelism.{axis}={size} does not divide model.{field}={count}; "
                f"lower parallelism.{axis} or change model.{field}",
                f"parallelism.{axis}",
                f"model.{field}",
            )
