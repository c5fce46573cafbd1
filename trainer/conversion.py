"""Hugging Face ↔ Megatron weights, both ways, for any tensor- and pipeline-parallel layout. Pure torch.

Megatron fuses and interleaves what Hugging Face keeps apart:

    linear_qkv   by query group: the group's queries, its key, its value; then the next group
    linear_fc1   gate and up; under tensor parallelism each rank holds its part of both
    embedding    padded with zero rows, so that every rank holds equally many
    output_layer absent where the head is tied and the embedding is on the same pipeline stage

`stage_tensors` says which tensors a pipeline stage has; each knows how to cut a rank's shard out of whole Hugging Face
tensors and how to put all ranks' shards together again, bit for bit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from trainer.architecture import Architecture
from trainer.contracts.progress import tracked


class Packing(Protocol):
    """How some Hugging Face tensors are one Megatron tensor."""

    def shard(self, tensors: Sequence[Tensor], *, tp_rank: int, tp_size: int) -> Tensor:
        """One rank's part, from whole Hugging Face tensors."""
        ...

    def unshard(self, shards: Sequence[Tensor]) -> list[Tensor]:
        """The whole Hugging Face tensors, from the parts of all ranks in order."""
        ...


@dataclass(frozen=True, slots=True)
class Replicated:
    """The same tensor on every rank."""

    def shard(self, tensors: Sequence[Tensor], *, tp_rank: int, tp_size: int) -> Tensor:  # noqa: ARG002
        return tensors[0]

    def unshard(self, shards: Sequence[Tensor]) -> list[Tensor]:
        return [shards[0]]


@dataclass(frozen=True, slots=True)
class Split:
    """Cut along one dimension."""

    dim: int

    def shard(self, tensors: Sequence[Tensor], *, tp_rank: int, tp_size: int) -> Tensor:
        return tensors[0].chunk(tp_size, dim=self.dim)[tp_rank]

    def unshard(self, shards: Sequence[Tensor]) -> list[Tensor]:
        return [torch.cat(list(shards), dim=self.dim)]


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Rows by vocabulary entry, padded with zeros to a multiple of the tensor-parallel size."""

    vocab_size: int

    def shard(self, tensors: Sequence[Tensor], *, tp_rank: int, tp_size: int) -> Tensor:
        rows = -(-self.vocab_size // tp_size) * tp_size
        padded = torch.nn.functional.pad(tensors[0], (0, 0, 0, rows - self.vocab_size))
        return padded.chunk(tp_size)[tp_rank]

    def unshard(self, shards: Sequence[Tensor]) -> list[Tensor]:
        return [torch.cat(list(shards))[: self.vocab_size]]


@dataclass(frozen=True, slots=True)
class GateUp:
    """Gate and up, one below the other, on each rank."""

    def shard(self, tensors: Sequence[Tensor], *, tp_rank: int, tp_size: int) -> Tensor:
        return torch.cat([tensor.chunk(tp_size)[tp_rank] for tensor in tensors])

    def unshard(self, shards: Sequence[Tensor]) -> list[Tensor]:
        halves = [shard.chunk(2) for shard in shards]
        return [torch.cat([half[i] for half in halves]) for i in range(2)]


@dataclass(frozen=True, slots=True)
class QueryKeyValue:
    """Rows interleaved by query group; weights [rows, hidden] and biases [rows] alike."""

    num_query_groups: int
    heads_per_group: int
    head_dim: int

    def shard(self, tensors: Sequence[Tensor], *, tp_rank: int, tp_size: int) -> Tensor:
        by_group = [self._by_group(tensor) for tensor in tensors]
        fused = torch.cat(by_group, dim=1)  # [groups, (heads_per_group + 2) · head_dim, …]
        return fused.chunk(tp_size)[tp_rank].flatten(0, 1)

    def unshard(self, shards: Sequence[Tensor]) -> list[Tensor]:
        fused = self._by_group(torch.cat(list(shards)))
        sizes = [self.heads_per_group * self.head_dim, self.head_dim, self.head_dim]
        return [part.flatten(0, 1) for part in torch.split(fused, sizes, dim=1)]

    def _by_group(self, tensor: Tensor) -> Tensor:
        """[rows, …] → [groups, rows / groups, …]."""
        return tensor.reshape(self.num_query_groups, -1, *tensor.shape[1:])


@dataclass(frozen=True, slots=True, kw_only=True)
class StageTensor:
    """One Megatron parameter and the Hugging Face tensors that it is made of."""

    name: str
    hf_names: tuple[str, ...]
    packing: Packing
    is_copy: bool = False
    """A second copy of a tensor that another pipeline stage reports: the tied head of the last stage."""


def stage_tensors(architecture: Architecture, *, layers: range, is_first: bool, is_last: bool) -> Iterator[StageTensor]:
    """The parameters of one pipeline stage, by their names in Megatron's GPTModel.

    layers: the stage's layers, counted over the whole model.
    """
    vocabulary = Vocabulary(architecture.vocab_size)
    if is_first:
        yield StageTensor(
            name="embedding.word_embeddings.weight", hf_names=("model.embed_tokens.weight",), packing=vocabulary
        )
    for index, layer in enumerate(layers):
        yield from _layer_tensors(architecture, f"decoder.layers.{index}", f"model.layers.{layer}")
    if not is_last:
        return
    yield StageTensor(name="decoder.final_layernorm.weight", hf_names=("model.norm.weight",), packing=Replicated())
    if not architecture.tied_embeddings:
        yield StageTensor(name="output_layer.weight", hf_names=("lm_head.weight",), packing=vocabulary)
    elif not is_first:
        yield StageTensor(
            name="output_layer.weight", hf_names=("model.embed_tokens.weight",), packing=vocabulary, is_copy=True
        )


def _layer_tensors(architecture: Architecture, ours: str, theirs: str) -> Iterator[StageTensor]:
    qkv = QueryKeyValue(architecture.num_query_groups, architecture.heads_per_group, architecture.head_dim)
    attention, hf_attention = f"{ours}.self_attention", f"{theirs}.self_attn"
    rows: list[tuple[str, tuple[str, ...], Packing]] = [
        (f"{ours}.input_layernorm.weight", (f"{theirs}.input_layernorm.weight",), Replicated()),
        (f"{attention}.linear_qkv.weight", _qkv_names(hf_attention, "weight"), qkv),
        (f"{attention}.linear_proj.weight", (f"{hf_attention}.o_proj.weight",), Split(1)),
        (f"{ours}.pre_mlp_layernorm.weight", (f"{theirs}.post_attention_layernorm.weight",), Replicated()),
        (
            f"{ours}.mlp.linear_fc1.weight",
            (f"{theirs}.mlp.gate_proj.weight", f"{theirs}.mlp.up_proj.weight"),
            GateUp(),
        ),
        (f"{ours}.mlp.linear_fc2.weight", (f"{theirs}.mlp.down_proj.weight",), Split(1)),
    ]
    if architecture.has_qkv_bias:
        rows.append((f"{attention}.linear_qkv.bias", _qkv_names(hf_attention, "bias"), qkv))
    if architecture.attention_bias:
        rows.append((f"{attention}.linear_proj.bias", (f"{hf_attention}.o_proj.bias",), Replicated()))
    if architecture.mlp_bias:
        up = (f"{theirs}.mlp.gate_proj.bias", f"{theirs}.mlp.up_proj.bias")
        rows.append((f"{ours}.mlp.linear_fc1.bias", up, GateUp()))
        rows.append((f"{ours}.mlp.linear_fc2.bias", (f"{theirs}.mlp.down_proj.bias",), Replicated()))
    if architecture.family.has_qk_norm:
        for letter in "qk":
            norm = f"{hf_attention}.{letter}_norm.weight"
            rows.append((f"{attention}.{letter}_layernorm.weight", (norm,), Replicated()))
    for name, hf_names, packing in rows:
        yield StageTensor(name=name, hf_names=hf_names, packing=packing)


def _qkv_names(attention: str, kind: str) -> tuple[str, ...]:
    return tuple(f"{attention}.{letter}_proj.{kind}" for letter in "qkv")


def shard_stage(
    tensors: Sequence[StageTensor], weights: Mapping[str, Tensor], *, tp_rank: int, tp_size: int
) -> dict[str, Tensor]:
    """A rank's parameters, from whole Hugging Face weights."""
    return {
        tensor.name: tensor.packing.shard([weights[name] for name in tensor.hf_names], tp_rank=tp_rank, tp_size=tp_size)
        for tensor in tracked(tensors, what="converting weights", unit="parameters")
    }


def unshard_stage(tensors: Sequence[StageTensor], shards: Sequence[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """The stage's whole Hugging Face tensors, from the parameters of all its tensor-parallel ranks in order."""
    return {
        hf_name: whole
        for tensor in tensors
        if not tensor.is_copy
        for hf_name, whole in zip(
            tensor.hf_names, tensor.packing.unshard([shard[tensor.name] for shard in shards]), strict=True
        )
    }
