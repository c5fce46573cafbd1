"""How large the gradient of one data-parallel rank's own samples is, before it is added to the others'.

`trainer/train_step.py` puts a `ShareMeter` before Megatron's finalize_model_grads, which all schedules call once, when
all micro-batches of the step are done. It changes no gradient: what it must add up, it adds up in copies.

    micro-batches ─► main_grad of the rank's own samples ─► ShareMeter ─► all-reduce over the data-parallel ranks
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
import torch.distributed as dist
from megatron.core import parallel_state
from megatron.core.distributed import DistributedDataParallel
from megatron.core.models.gpt import GPTModel
from megatron.core.tensor_parallel import param_is_not_tensor_parallel_duplicate
from megatron.core.transformer import TransformerConfig
from megatron.core.transformer.module import param_is_not_shared
from torch import Tensor


class ShareMeter:
    """Stands in for Megatron's finalize_model_grads: measures, then hands on."""

    def __init__(self, finalize: Callable[..., None]) -> None:
        self._finalize = finalize
        self.sq_norm: float | None = None
        """|c_r|² (see `GradientNoise`), the same on all ranks that hold a part of the same copy of the model."""

    def __call__(self, model: Sequence[DistributedDataParallel], *args: Any, **kwargs: Any) -> None:
        self.sq_norm = share_sq_norm(model)
        self._finalize(model, *args, **kwargs)


@contextmanager
def measured_share(config: TransformerConfig) -> Iterator[ShareMeter]:
    """While it is open, the model with this config measures each step's share."""
    finalize = config.finalize_model_grads_func
    config.finalize_model_grads_func = meter = ShareMeter(finalize)
    try:
        yield meter
    finally:
        config.finalize_model_grads_func = finalize


def share_sq_norm(model: Sequence[DistributedDataParallel]) -> float:
    """The squared norm of this data-parallel rank's share of the gradient over the whole model.

    model: the chunks of this pipeline stage, with every micro-batch's gradient in main_grad and nothing reduced yet.
    All ranks must call it at once.
    """
    norms = [torch.linalg.vector_norm(gradient) for chunk in model for gradient in _counted_gradients(chunk)]
    total = torch.zeros(1, dtype=torch.float64, device=next(model[0].parameters()).device)
    if norms:
        total += torch.stack(norms).double().square().sum()
    dist.all_reduce(total, group=parallel_state.get_model_parallel_group())
    # The loss was multiplied by this size, which DDP divides by only when it reduces.
    scale: int = parallel_state.get_data_parallel_world_size(with_context_parallel=True)
    return float(total.item()) / scale**2


def _counted_gradients(chunk: DistributedDataParallel) -> Iterator[Tensor]:
    """What this rank adds to the squared norm: replicas are counted on one of the ranks that hold them."""
    for name, parameter in chunk.module.named_parameters():
        gradient = parameter.main_grad
        if groups := _groups_to_sum(chunk.module, name, parameter):
            gradient = gradient.clone()
            for group in groups:
                dist.all_reduce(gradient, group=group)
        if param_is_not_shared(parameter) and param_is_not_tensor_parallel_duplicate(parameter):
            yield gradient


def _groups_to_sum(module: GPTModel, name: str, parameter: Tensor) -> list[dist.ProcessGroup]:
    """Over whose ranks the gradient of a parameter is still to be added up, apart from the data-parallel ones.

    The same sums that Megatron's finalize_model_grads makes after the data-parallel one.
    """
    groups = []
    if (context := parallel_state.get_context_parallel_group()).size() > 1:
        groups.append(context)
    if (tensor := parallel_state.get_tensor_model_parallel_group()).size() > 1 and _is_partial(module, name, parameter):
        groups.append(tensor)
    if _is_tied_across_stages(module, parameter):
        groups.append(parallel_state.get_embedding_group())
    return groups


def _is_partial(module: GPTModel, name: str, parameter: Tensor) -> bool:
    """Whether a tensor-parallel rank sees only its own heads or tokens of a parameter that all of them hold."""
    if module.config.sequence_parallel and getattr(parameter, "sequence_parallel", False):
        return True
    return bool(module.config.qk_layernorm) and ("q_layernorm" in name or "k_layernorm" in name)


def _is_tied_across_stages(module: GPTModel, parameter: Tensor) -> bool:
    """Whether it is the embedding that the first and the last pipeline stage both hold."""
    if not module.share_embeddings_and_output_weights or module.pre_process == module.post_process:
        return False
    return parameter is module.shared_embedding_or_output_weight()
