"""How the trainer's ranks are laid out, and whether a model can be cut that way. A block of the RunSpec."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Protocol, Self

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
    vpp: PositiveInt = 1
    """Groups of layers on each pipeline rank, run in turn (interleaved pipeline): less idle time, more messages."""
    cp: PositiveInt = 1
    """Context-parallel size: ranks that share the tokens of each sample."""
    sequence_parallel: bool = False
    """Whether tensor-parallel ranks share the tokens between their layers too: less memory for activations."""
    distributed_optimizer: bool = False
    """Whether the optimizer's state is shared out over the dp × cp ranks instead of held by each."""
    overlap_grad_reduce: bool = False
    """Whether gradients are added up over the dp × cp ranks while the last micro-batch is still computed."""
    overlap_param_gather: bool = False
    """Whether updated weights are gathered during the next forward; needs distributed_optimizer and
    overlap_grad_reduce."""
    num_ranks: PositiveInt | None = None
    """Check only: when given, dp × tp × pp × cp must equal it."""

    @property
    def world_size(self) -> int:
        """Number of Megatron ranks."""
        return self.dp * self.tp * self.pp * self.cp

    @model_validator(mode="after")
    def _options_have_what_they_need(self) -> Self:
        if self.vpp > 1 and self.pp == 1:
            raise FieldError(f"vpp={self.vpp} needs a pipeline: raise pp above 1 or leave vpp out", "vpp", "pp")
        if self.sequence_parallel and self.tp == 1:
            raise FieldError(
                "sequence_parallel=true needs tensor parallelism: raise tp above 1 or leave sequence_parallel out",
                "sequence_parallel",
                "tp",
            )
        if self.overlap_param_gather and not (self.distributed_optimizer and self.overlap_grad_reduce):
            raise FieldError(
                "overlap_param_gather=true needs distributed_optimizer=true and overlap_grad_reduce=true",
                "overlap_param_gather",
                "distributed_optimizer",
                "overlap_grad_reduce",
            )
        return self

    @model_validator(mode="after")
    def _fills_the_ranks(self) -> Self:
        if self.num_ranks is None or self.num_ranks == self.world_size:
            return self
        if self.num_ranks % self.dp:
            raise FieldError(
                f"dp={self.dp} does not divide num_ranks={self.num_ranks}; change dp or num_ranks", "dp", "num_ranks"
            )
        raise FieldError(
            f"dp × tp × pp × cp = {self.dp} × {self.tp} × {self.pp} × {self.cp} = {self.world_size} but "
            f"num_ranks={self.num_ranks}; make them equal or leave num_ranks out",
            "dp",
            "tp",
            "pp",
            "cp",
            "num_ranks",
        )


class ModelShape(Protocol):
    """What of a model a layout cuts."""

    @property
    def num_layers(self) -> int: ...
    @property
    def num_attention_heads(self) -> int: ...
    @property
    def num_query_groups(self) -> int: ...
    @property
    def ffn_hidden_size(self) -> int: ...
    @property
    def vocab_size(self) -> int: ...


class LayoutProblem(NamedTuple):
    """Why a model cannot be cut as a layout asks."""

    message: str
    axes: tuple[str, ...]
    """Fields of `ParallelismSpec`."""
    field: str
    """The model's own."""


def layout_problems(shape: ModelShape, parallelism: ParallelismSpec) -> Iterator[LayoutProblem]:
    """Everything that keeps a model from being cut as the layout asks."""
    tp, stages = parallelism.tp, parallelism.pp * parallelism.vpp
    for axes, size, field in (
        (("tp",), tp, "num_attention_heads"),
        (("tp",), tp, "num_query_groups"),
        (("tp",), tp, "ffn_hidden_size"),
        (("pp", "vpp") if parallelism.vpp > 1 else ("pp",), stages, "num_layers"),
    ):
        count = getattr(shape, field)
        if count % size:
            named = " × ".join(f"parallelism.{axis}" for axis in axes)
            yield LayoutProblem(f"{named}={size} does not divide model.{field}={count}", axes, field)
    # Every rank holds equally many rows of the vocabulary, the last ranks' being padding.
    if (tp - 1) * -(-shape.vocab_size // tp) >= shape.vocab_size:
        message = f"parallelism.tp={tp} leaves a rank nothing of model.vocab_size={shape.vocab_size}"
        yield LayoutProblem(message, ("tp",), "vocab_size")


def check_layout(model: ModelSpec, parallelism: ParallelismSpec) -> None:
    """Raise a FieldError when the model cannot be cut as the layout asks.

    A Hugging Face model is not judged here: its shape is known when its config.json is read.
    """
    if not isinstance(model, ScratchModelSpec):
        return
    for problem in layout_problems(model, parallelism):
        axes = [f"parallelism.{axis}" for axis in problem.axes]
        raise FieldError(
            f"{problem.message}; lower {' or '.join(axes)} or change model.{problem.field}",
            *axes,
            f"model.{problem.field}",
        )
