"""Builds this rank's part of the Megatron GPTModel, wrapped in Megatron's DDP: one chunk, or several where the pipeline
is interleaved.

Called once per rank by `trainer/rank.py`, after parallel_state is initialised. The layers are of
`trainer/layer_spec.py`; everything else that a Qwen or Llama needs is Megatron's own.

Legend: R positions of the packed row, n loss tokens of this rank, H hidden size.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
import torch.distributed as dist
from megatron.core import parallel_state
from megatron.core.distributed import (
    DistributedDataParallel,
    DistributedDataParallelConfig,
    finalize_model_grads,
)
from megatron.core.models.gpt import GPTModel
from megatron.core.tensor_parallel.mappings import gather_from_sequence_parallel_region
from megatron.core.transformer import TransformerConfig
from torch import Tensor

from trainer.architecture import Architecture
from trainer.attention import PackedRowParams
from trainer.contracts.parallelism_spec import ParallelismSpec
from trainer.conversion import StageTensor, stage_tensors
from trainer.device import weight_dtype
from trainer.layer_spec import block_spec
from trainer.output_layer import LogProbLayer
from trainer.rotary import RotaryFrequencies

ModelChunks = Sequence[DistributedDataParallel]
"""What one rank holds, from front to back: the interleaved pipeline runs them in turn."""


class PackedGPTModel(GPTModel):  # type: ignore[misc]  # Megatron has no types
    """GPTModel for packed rows: RoPE restarts with every sample, and only loss tokens reach the output layer."""

    output_layer: Any

    def __init__(self, architecture: Architecture, **kwargs: Any) -> None:
        super().__init__(position_embedding_type="none", **kwargs)
        self._frequencies = RotaryFrequencies(architecture)
        if self.post_process:
            self.output_layer = LogProbLayer(
                self.output_layer.weight, vocab_size=architecture.vocab_size, group=self.pg_collection.tp
            )

    def _preprocess(self, *, packed_seq_params: PackedRowParams, **kwargs: Any) -> tuple[Any, ...]:
        packed_seq_params.rotation = self._frequencies.rotation(
            packed_seq_params.position_ids, self.config.params_dtype
        )
        processed: tuple[Any, ...] = super()._preprocess(packed_seq_params=packed_seq_params, **kwargs)
        return processed

    def _postprocess(self, hidden_states: Tensor, *, packed_seq_params: PackedRowParams, **_: Any) -> Tensor:
        """[R, 1, H] → log-probs and entropies [2, n] on the last stage; elsewhere hidden states go on as they are."""
        if not self.post_process:
            return hidden_states
        if self.config.sequence_parallel:
            # The output layer's backward adds up the ranks' gradients: here each takes its own part of the sum.
            hidden_states = gather_from_sequence_parallel_region(
                hidden_states, tensor_parallel_output_grad=False, group=self.pg_collection.tp
            )
        targets = packed_seq_params.targets
        hidden = hidden_states.squeeze(1).index_select(0, targets.predicting_rows)
        tied_weight = self.shared_embedding_or_output_weight() if self.share_embeddings_and_output_weights else None
        log_probs: Tensor = self.output_layer(hidden, targets, tied_weight=tied_weight)
        return log_probs


def build_model(architecture: Architecture, parallelism: ParallelismSpec, *, device: torch.device) -> ModelChunks:
    """The chunks of this rank's pipeline stage, with weights that are still to be set."""
    config = _transformer_config(architecture, parallelism, device)
    ddp_config = DistributedDataParallelConfig(
        # Without overlap every rank reduces its whole gradient once, at the end of the step, whatever number of
        # micro-batches it ran: a rank that skipped all of its dummies still takes part.
        overlap_grad_reduce=parallelism.overlap_grad_reduce,
        overlap_param_gather=parallelism.overlap_param_gather,
        use_distributed_optimizer=parallelism.distributed_optimizer,
        grad_reduce_in_fp32=True,
    )
    chunks = []
    for vp_stage in range(parallelism.vpp):
        module = _build_chunk(architecture, config, vp_stage=vp_stage if parallelism.vpp > 1 else None).to(device)
        # As Megatron's own training does: only the first chunk's reduction is on the critical path.
        chunks.append(
            DistributedDataParallel(config=config, ddp_config=ddp_config, module=module, disable_bucketing=vp_stage > 0)
        )
    if parallelism.overlap_grad_reduce:
        no_syncs = [chunk.no_sync for chunk in chunks]
        config.no_sync_func = no_syncs if len(chunks) > 1 else no_syncs[0]
    return chunks


def parameters_of(chunks: ModelChunks) -> dict[str, Tensor]:
    """All parameters of this rank by their Megatron names, each behind the number of its chunk."""
    return {
        _in_chunk(index, name): parameter
        for index, chunk in enumerate(chunks)
        for name, parameter in chunk.module.named_parameters()
    }


def tensors_of(chunks: ModelChunks, architecture: Architecture) -> list[StageTensor]:
    """What the parameters of this rank are made of, by the same names."""
    return [
        replace(tensor, name=_in_chunk(index, tensor.name))
        for index, chunk in enumerate(chunks)
        for tensor in _tensors_of_chunk(chunk.module, architecture)
    ]


@torch.no_grad()
def set_weights(chunks: ModelChunks, weights: Mapping[str, Tensor]) -> None:
    """Copy this rank's tensors in, by the names of `parameters_of`; every parameter must be among them."""
    parameters = parameters_of(chunks)
    assert parameters.keys() == weights.keys(), f"differing parameters: {sorted(parameters.keys() ^ weights.keys())}"
    for name, parameter in parameters.items():
        parameter.copy_(weights[name])


@torch.no_grad()
def gathered_gradients(chunks: ModelChunks) -> dict[str, Tensor]:
    """The gradient of each parameter of this rank, summed over all ranks, by the names of `parameters_of`.

    All ranks must call it: under the distributed optimizer each has a stretch only, and they are put together here.
    """
    for chunk in chunks:
        if not chunk.ddp_config.use_distributed_optimizer:
            continue
        group: dist.ProcessGroup = chunk.intra_dp_cp_group
        for bucket in (bucket for bucket_group in chunk.bucket_groups for bucket in bucket_group.buckets):
            own = bucket.grad_data.chunk(group.size())[group.rank()].clone()
            dist.all_gather_into_tensor(bucket.grad_data, own, group=group)
    return {
        _in_chunk(index, name): parameter.main_grad
        for index, chunk in enumerate(chunks)
        for name, parameter in chunk.module.named_parameters()
    }


def wait_for_weights(chunks: ModelChunks) -> None:
    """Where updated weights are gathered during the next forward, gather them now. All ranks must call it."""
    for chunk in chunks:
        if chunk.ddp_config.overlap_param_gather:
            chunk.start_param_sync(force_sync=True)


def _build_chunk(architecture: Architecture, config: TransformerConfig, *, vp_stage: int | None) -> PackedGPTModel:
    is_virtual = vp_stage is not None
    return PackedGPTModel(
        architecture,
        config=config,
        transformer_layer_spec=block_spec(architecture, config, vp_stage=vp_stage),
        vocab_size=architecture.padded_vocab_size(config.tensor_model_parallel_size),
        max_sequence_length=architecture.max_position_embeddings,
        pre_process=parallel_state.is_pipeline_first_stage(ignore_virtual=not is_virtual, vp_stage=vp_stage),
        post_process=parallel_state.is_pipeline_last_stage(ignore_virtual=not is_virtual, vp_stage=vp_stage),
        share_embeddings_and_output_weights=architecture.tied_embeddings,
        vp_stage=vp_stage,
    )


def _transformer_config(
    architecture: Architecture, parallelism: ParallelismSpec, device: torch.device
) -> TransformerConfig:
    dtype = weight_dtype(device)
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
        # Biases of single layers are the layer spec's.
        add_bias_linear=False,
        add_qkv_bias=architecture.has_qkv_bias,
        gated_linear_unit=True,
        activation_func=torch.nn.functional.silu,
        hidden_dropout=0.0,
        attention_dropout=0.0,
        params_dtype=dtype,
        bf16=dtype is torch.bfloat16,
        tensor_model_parallel_size=parallelism.tp,
        pipeline_model_parallel_size=parallelism.pp,
        virtual_pipeline_model_parallel_size=parallelism.vpp if parallelism.vpp > 1 else None,
        context_parallel_size=parallelism.cp,
        sequence_parallel=parallelism.sequence_parallel,
        pipeline_dtype=dtype,
        # An interleaved pipeline of two ranks would have two messages each way at once between the same ranks; only
        # the overlapping communication keeps them apart.
        overlap_p2p_comm=parallelism.vpp > 1,
        batch_p2p_comm=parallelism.vpp == 1,
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


def _in_chunk(index: int, name: str) -> str:
    return f"{index}.{name}"


def _tensors_of_chunk(module: GPTModel, architecture: Architecture) -> Iterator[StageTensor]:
    first_layer = module.decoder.layers[0].layer_number - 1
    return stage_tensors(
        architecture,
        layers=range(first_layer, first_layer + len(module.decoder.layers)),
        is_first=module.pre_process,
        is_last=module.post_process,
    )


def _leave_as_is(tensor: Tensor) -> Tensor:
    return tensor
