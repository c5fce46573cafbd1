"""The layers of our Megatron models: Megatron's local spec, with what it lacks for packed rows and for biases.

`trainer/model.py` hands `block_spec` to GPTModel.
"""

from __future__ import annotations

from typing import Any

import torch
from megatron.core.models.gpt.gpt_layer_specs import get_gpt_layer_local_spec
from megatron.core.tensor_parallel.layers import ColumnParallelLinear, RowParallelLinear
from megatron.core.transformer import ModuleSpec, TransformerConfig
from megatron.core.transformer.transformer_block import TransformerBlockSubmodules, get_num_layers_to_build

from trainer.architecture import Architecture
from trainer.attention import PackedAttention


class RMSNorm(torch.nn.RMSNorm):
    """torch's, told apart under sequence parallelism: each rank normalises its own tokens, and Megatron adds up the
    weight's gradient over ranks only where a parameter says so. Megatron's wrapper refuses that.
    """

    def __init__(self, config: TransformerConfig, hidden_size: int, eps: float, **_: Any) -> None:
        super().__init__(hidden_size, eps=eps)
        self.weight.sequence_parallel = config.sequence_parallel  # type: ignore[attr-defined]


class BiasedColumnLinear(ColumnParallelLinear):  # type: ignore[misc]  # Megatron has no types
    """With a bias, though the config, which speaks for all layers at once, has none."""

    def __init__(self, *args: Any, bias: bool, **kwargs: Any) -> None:  # noqa: ARG002
        super().__init__(*args, bias=True, **kwargs)


class BiasedRowLinear(RowParallelLinear):  # type: ignore[misc]
    """See `BiasedColumnLinear`."""

    def __init__(self, *args: Any, bias: bool, **kwargs: Any) -> None:  # noqa: ARG002
        super().__init__(*args, bias=True, **kwargs)


def block_spec(
    architecture: Architecture, config: TransformerConfig, *, vp_stage: int | None
) -> TransformerBlockSubmodules:
    """The layers of one chunk and the norm behind the last of them."""
    num_layers = get_num_layers_to_build(config, vp_stage=vp_stage)
    return TransformerBlockSubmodules(layer_specs=[_layer_spec(architecture)] * num_layers, layer_norm=RMSNorm)


def _layer_spec(architecture: Architecture) -> ModuleSpec:
    spec = get_gpt_layer_local_spec(qk_layernorm=architecture.family.has_qk_norm, normalization="RMSNorm")
    layer = spec.submodules
    attention, mlp = layer.self_attention.submodules, layer.mlp.submodules
    layer.input_layernorm = layer.pre_mlp_layernorm = RMSNorm
    attention.core_attention = PackedAttention
    if architecture.family.has_qk_norm:
        attention.q_layernorm = attention.k_layernorm = RMSNorm
    if architecture.attention_bias:
        attention.linear_proj = BiasedRowLinear
    if architecture.mlp_bias:
        mlp.linear_fc1, mlp.linear_fc2 = BiasedColumnLinear, BiasedRowLinear
    return spec
