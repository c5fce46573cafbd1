"""Rotary position embedding (RoPE, Su et al. 2021) for packed rows, with the scalings that Hugging Face models declare.

`trainer/model.py` asks for the frequencies once and for the rotation once per micro-batch; `trainer/attention.py`
applies it in every layer. Megatron's own RoPE assumes that context-parallel ranks hold equal, padded pieces of every
sample, and of Llama's scaling it knows only the factor.

Legend: R positions in the row, N heads, D head size.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from trainer.architecture import Architecture


class Rotation(NamedTuple):
    """What turns the queries and keys of one row."""

    cos: Tensor  # [R, 1, D]
    sin: Tensor  # [R, 1, D]


class RotaryFrequencies:
    """The angles per position of a model."""

    def __init__(self, architecture: Architecture) -> None:
        self._inverse, self._scale = _inverse_frequencies(architecture)

    def rotation(self, position_ids: Tensor, dtype: torch.dtype) -> Rotation:
        """The rotation of tokens with the given position_ids [R], computed in float32 as Hugging Face does."""
        if self._inverse.device != position_ids.device:
            self._inverse = self._inverse.to(position_ids.device)
        angles = position_ids[:, None].float() * self._inverse
        angles = torch.cat((angles, angles), dim=-1)[:, None]
        return Rotation((angles.cos() * self._scale).to(dtype), (angles.sin() * self._scale).to(dtype))


def rotate(heads: Tensor, rotation: Rotation) -> Tensor:
    """[R, N, D] → [R, N, D]: the two halves of each head turn against each other."""
    first, second = heads.chunk(2, dim=-1)
    return heads * rotation.cos + torch.cat((-second, first), dim=-1) * rotation.sin


def _inverse_frequencies(architecture: Architecture) -> tuple[Tensor, float]:
    """[D / 2] radians per position, and what cosine and sine are multiplied by."""
    if architecture.rope_type == "default":
        exponents = torch.arange(0, architecture.head_dim, 2, dtype=torch.float32) / architecture.head_dim
        return 1.0 / architecture.rope_theta**exponents, 1.0
    # Only here, because it takes a second to import.
    from transformers import AutoConfig
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

    config = {name: value for name, value in architecture.hf_config().items() if name != "architectures"}
    inverse, scale = ROPE_INIT_FUNCTIONS[architecture.rope_type](AutoConfig.for_model(**config))
    return inverse.float(), float(scale)
