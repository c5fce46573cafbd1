"""What the trainer is told: the model, its parallel layout, the optimizer and the loss.

Each class is one block of the RunSpec; `TrainerSpec` holds what one trainer needs and checks the blocks against each
other. A choice is a union told apart by `type`.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal, Self, TypeAlias

from pydantic import Field, PositiveFloat, PositiveInt, model_validator

from trainer.contracts.text_model import FieldError, TextModel

NonNegativeFraction: TypeAlias = Annotated[float, Field(ge=0.0, lt=1.0)]


class ScratchModelSpec(TextModel):
    """A small model with random weights and a byte-level BPE tokenizer that the run trains on its own prompts."""

    type: Literal["scratch"]
    family: Literal["qwen3"] = "qwen3"
    """The architecture; the weights are pushed to engines under its Hugging Face names."""
    num_layers: PositiveInt
    """Transformer layers; a multiple of parallelism.pp."""
    hidden_size: PositiveInt
    """Width of the residual stream; a multiple of num_attention_heads."""
    num_attention_heads: PositiveInt
    """Query heads; a multiple of parallelism.tp."""
    num_query_groups: PositiveInt
    """Key and value heads; each is shared by num_attention_heads / num_query_groups query heads."""
    ffn_hidden_size: PositiveInt
    """Inner width of the gated feed-forward; a multiple of parallelism.tp."""
    vocab_size: Annotated[int, Field(ge=260, le=65_536)] = 320
    """The most entries that the tokenizer may have: 256 bytes, the special tokens, then merges."""
    max_position_embeddings: PositiveInt = 2048
    """Most tokens of one sequence, prompt and response together."""

    @model_validator(mode="after")
    def _heads_divide(self) -> Self:
        if self.hidden_size % self.num_attention_heads:
            raise FieldError(
                f"hidden_size={self.hidden_size} is not a multiple of num_attention_heads={self.num_attention_heads}; "
                "change one of them",
                "hidden_size",
                "num_attention_heads",
            )
        if self.num_attention_heads % self.num_query_groups:
            raise FieldError(
                f"num_attention_heads={self.num_attention_heads} is not a multiple of "
                f"num_query_groups={self.num_query_groups}; change one of them",
                "num_attention_heads",
                "num_query_groups",
            )
        return self


class HuggingFaceModelSpec(TextModel):
    """A model directory in Hugging Face's format: config.json, safetensors and tokenizer files."""

    type: Literal["huggingface"]
    path: Annotated[str, Field(min_length=1)]
    """A directory that every machine of the run can read. Nothing is downloaded."""


ModelSpec: TypeAlias = Annotated[ScratchModelSpec | HuggingFaceModelSpec, Field(discriminator="type")]


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


class LrUnit(StrEnum):
    """What the learning-rate schedule counts."""

    SAMPLES = "samples"
    """Trained samples: a step advances it by its own global_batch_size."""
    STEPS = "steps"
    """Optimizer updates: a step advances it by one, whatever its size."""


class LrScheduleSpec(TextModel):
    """The learning rate as a function of the position; warm-up first, then decay to `min_lr_frac` of the peak."""

    style: Literal["constant", "linear", "cosine"] = "constant"
    """Shape of the decay after the warm-up."""
    warmup: Annotated[int, Field(ge=0)] = 0
    """Length of the linear warm-up from 0, in `unit`."""
    decay: PositiveInt | None = None
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
    lr: PositiveFloat
    """The learning rate at the end of the warm-up."""
    lr_schedule: LrScheduleSpec = LrScheduleSpec()
    """How the learning rate moves; constant unless said."""
    clip_grad: Annotated[float, Field(ge=0.0)] = 1.0
    """Largest norm of the whole gradient; 0 leaves it unclipped."""
    weight_decay: Annotated[float, Field(ge=0.0)] = 0.0
    """Decoupled weight decay per update, times the learning rate."""
    beta1: NonNegativeFraction = 0.9
    """Decay of Adam's first moment."""
    beta2: NonNegativeFraction = 0.95
    """Decay of Adam's second moment."""
    eps: PositiveFloat = 1e-8
    """Added to Adam's denominator."""


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


class PhaseSpec(TextModel):
    """What one stretch of training optimises. A new phase keeps the weights and begins optimizer and LR anew."""

    optimizer: OptimizerSpec
    loss: LossSpec


class TrainerSpec(TextModel):
    """One trainer: a model under one layout. The phases it goes through come later, one at a time."""

    model: ModelSpec
    parallelism: ParallelismSpec
    seed: Annotated[int, Field(ge=0, lt=2**31)]

    @model_validator(mode="after")
    def _layout_fits_model(self) -> Self:
        check_layout(self.model, self.parallelism)
        return self


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
