"""The model that is trained: a small one from scratch, or a Hugging Face directory. A block of the RunSpec."""

from __future__ import annotations

from typing import Annotated, Literal, Self, TypeAlias

from pydantic import Field, PositiveInt, model_validator

from trainer.contracts.text_model import FieldError, TextModel

HF_ARCHITECTURES = {"Qwen3ForCausalLM": "qwen3", "Qwen2ForCausalLM": "qwen2", "LlamaForCausalLM": "llama"}
"""The architectures of a config.json that can be trained, and the family of each."""


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
