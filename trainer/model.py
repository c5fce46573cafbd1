"""Builds this rank's part of the Megatron GPTModel, wrapped in Megatron's DDP, with its starting weights in place.

Called once per rank by `trainer/rank.py`, after parallel_state is initialised. The layer spec is Megatron's local one
with our packed attention; everything that a Qwen or Llama needs is Megatron's own.

Legend: T tokens of the packed row, N loss tokens, H hidden size, V vocabulary columns of this rank.
"""

from __future__ import annotations

from typing import Any

import torch
from megatron.core import parallel_state
from megatron.core.distributed import (
    DistributedDataParallel,
    DistributedDataParallelConfig,
    finalize_model_grads,
)
from megatron.core.models.gpt import GPTModel
from megatron.core.models.gpt.gpt_layer_specs import get_gpt_layer_local_spec
from megatron.core.transformer import ModuleSpec, TransformerConfig
from torch import Tensor

from trainer.architecture import Architecture
from trainer.attention import PackedAttention, PackedRowParams
from trainer.contracts.parallelism_spec import ParallelismSpec
from trainer.conversion import StageTensor, stage_tensors


class PackedGPTModel(GPTModel):  # type: ignore[misc]  # Megatron has no types
    """GPTModel for packed rows: RoPE restarts with every sample, and only loss tokens reach the output layer."""

    def _preprocess(self, *, packed_seq_params: PackedRowParams, **kwargs: Any) -> tuple[Any, ...]:
        hidden, frequencies, *rest = super()._preprocess(packed_seq_params=packed_seq_params, **kwargs)
        # [longest sample, 1, 1, D] → [T, 1, 1, D]
        return hidden, frequencies.index_select(0, packed_seq_params.positions), *rest

    def _postprocess(self, hidden_states: Tensor, *, packed_seq_params: PackedRowParams, **kwargs: Any) -> Tensor:
        """[T, 1, H] → [1, N, V] on the last stage; elsewhere the hidden states go on as they are."""
        if self.post_process:
            hidden_states = hidden_states.index_select(0, packed_seq_params.predicting_rows)
        output: Tensor = super()._postprocess(hidden_states, packed_seq_params=packed_seq_params, **kwargs)
        return output


def build_model(
    architecture: Architecture, parallelism: ParallelismSpec, *, device: torch.device
) -> DistributedDataParallel:
    """The pipeline stage of this rank, with weights that are still to be set."""
    config = _transformer_config(architecture, parallelism)
    model = PackedGPTModel(
        config=config,
        transformer_layer_spec=_layer_spec(architecture),
        vocab_size=architecture.padded_vocab_size(parallelism.tp),
        max_sequence_length=architecture.max_position_embeddings,
        pre_process=parallel_state.is_pipeline_first_stage(),
        post_process=parallel_state.is_pipeline_last_stage(),
        share_embeddings_and_output_weights=architecture.tied_embeddings,
        position_embedding_type="rope",
        rotary_base=architecture.rope_theta,
    ).to(device)
    # Without overlap every rank reduces its whole gradient once, at the end of the step, whatever number of
    # micro-batches it ran: a rank that skipped all of its dummies still takes part.
    ddp_config = DistributedDataParallelConfig(overlap_grad_reduce=False, use_distributed_optimizer=False)
    return DistributedDataParallel(config=config, ddp_config=ddp_config, module=model)


def tensors_of_stage(model: GPTModel, architecture: Architecture) -> list[StageTensor]:
    """What this rank's pipeline stage holds."""
    first_layer = model.decoder.layers[0].layer_number - 1
    return list(
        stage_tensors(
            architecture,
            layers=range(first_layer, first_layer + len(model.decoder.layers)),
            is_first=model.pre_process,
            is_last=model.post_process,
        )
    )


@torch.no_grad()
def set_weights(model: GPTModel, weights: dict[str, Tensor]) -> None:
    """Copy this rank's tensors in, by their Megatron names; every parameter must be among them."""
    parameters = dict(model.named_parameters())
    assert parameters.keys() == weights.keys(), f"differing parameters: {sorted(parameters.keys() ^ weights.keys())}"
    for name, parameter in parameters.items():
        parameter.copy_(weights[name])


def _transformer_config(architecture: Architecture, parallelism: ParallelismSpec) -> TransformerConfig:
    return TransformerConfig(
        num_layers=architecture.num_layers,
        hidden_size=architecture.hidden_size,
        num_attention_heads=architecture.num_attention_heads,
        num_query_groups=architecture.num_query_groups,
        kv_channels=architecture.head_dim,
        ffn_hidden_size=architecture.ffn_hidden_size,
        normalization="RMSNorm",
        layernorm_epsilon=architecture.rms_norm_eps,
        qk_layernorm=architecture.family.has_qk_norm,
        add_bias_linear=False,
        add_qkv_bias=architecture.family.has_qkv_bias,
        gated_linear_unit=True,
        activation_func=torch.nn.functional.silu,
        hidden_dropout=0.0,
        attention_dropout=0.0,
        tensor_model_parallel_size=parallelism.tp,
        pipeline_model_parallel_size=parallelism.pp,
        pipeline_dtype=torch.float32,
        # Micro-batches differ in length, so stages tell each other the shape first. Megatron allows it only with this
        # dispatcher, even for a dense model that dispatches nothing.
        variable_seq_lengths=parallelism.pp > 1,
        moe_token_dispatcher_type="alltoall",
        # Every weight is overwritten by `set_weights`.
        init_method=_leave_as_is,
        output_layer_init_method=_leave_as_is,
        use_cpu_initialization=True,
        gradient_accumulation_fusion=False,
        bias_dropout_fusion=False,
        bias_activation_fusion=False,
        masked_softmax_fusion=False,
        cuda_graph_scope=[],
        finalize_model_grads_func=finalize_model_grads,
    )


def _layer_spec(architecture: Architecture) -> ModuleSpec:
    spec = get_gpt_layer_local_spec(qk_layernorm=architecture.family.has_qk_norm, normalization="RMSNorm")
    spec.submodules.self_attention.submodules.core_attention = PackedAttention
    return spec


def _leave_as_is(tensor: Tensor) -> Tensor:
    return tensor
