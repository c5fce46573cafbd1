"""The only module that knows CPU from CUDA: the attention kernel, the precision, and what Megatron-Core 0.16 needs
replaced to run on a CPU with gloo.

`trainer/rank.py` calls `open_device` once per process, before it builds anything. CUDA takes none of the patches; its
path (bf16 weights with fp32 gradients and optimizer, nccl, FlashAttention through torch's varlen_attn) is written but
no test here has run it.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any, Literal

import torch
from megatron.core.distributed import param_and_grad_buffer
from megatron.core.optimizer import clip_grads, distrib_optimizer, optimizer
from megatron.core.pipeline_parallel import p2p_communication, schedules
from megatron.core.tensor_parallel import random
from megatron.core.tensor_parallel.layers import copy_tensor_model_parallel_attributes
from torch import Tensor

from trainer.grid_attention import GridAttention
from trainer.packed_layout import PackedLayout
from trainer.varlen_attention import VarlenAttention

DeviceType = Literal["cpu", "cuda"]

BACKENDS: dict[DeviceType, str] = {"cpu": "gloo", "cuda": "nccl"}
"""torch.distributed backend by device type."""


def peak_memory_bytes(device: torch.device) -> int:
    """The most memory that this process has held so far: resident on a CPU, allocated on its GPU."""
    if device.type == "cuda":
        return int(torch.cuda.max_memory_allocated(device))
    # Linux counts in KiB.
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def open_device(device_type: DeviceType) -> torch.device:
    """Make this process ready to run Megatron on the device; idempotent."""
    if device_type == "cuda":
        # Under tensor parallelism Megatron starts its messages before the kernels that they shall overlap, and counts
        # on the GPU to keep that order. Read when CUDA starts.
        os.environ.setdefault("CUDA_DEVICE_MAX_CONNECTIONS", "1")
        # Ray shows each actor only its own GPU, so that it is always the first.
        torch.cuda.set_device(0)
        return torch.device("cuda", 0)
    _patch_megatron_for_cpu()
    return torch.device("cpu")


def seed_device(device: torch.device, seed: int) -> None:
    """Seed Megatron's generators, once its process groups are there. The model itself draws nothing: no dropout."""
    if device.type == "cuda":
        random.model_parallel_cuda_manual_seed(seed)


def weight_dtype(device: torch.device) -> torch.dtype:
    """Of weights and activations; gradients and optimizer state are float32 everywhere."""
    return torch.bfloat16 if device.type == "cuda" else torch.float32


def product_fp32(left: Tensor, right: Tensor) -> Tensor:
    """[M, K] · [K, N] → [M, N] in fp32, also of factors in half precision, whose sums a GPU keeps in fp32 anyway."""
    if left.dtype == torch.float32:
        return left @ right
    if left.is_cuda:
        return torch.mm(left, right, out_dtype=torch.float32)
    return left.float() @ right.float()


def wait_for(device: torch.device) -> None:
    """Return when the device has done what it was given; a CPU always has."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def row_attention(layout: PackedLayout, device: torch.device) -> GridAttention | VarlenAttention:
    """The attention over one micro-batch's row: [R, N, D], [A, G, D] twice → [R, N, D]."""
    return VarlenAttention(layout, device) if device.type == "cuda" else GridAttention(layout, device)


class _CpuTorch(ModuleType):
    """`torch` as seen by one Megatron module: factories that ask for device="cuda" answer with CPU tensors."""

    def __init__(self) -> None:
        super().__init__("torch")
        for factory in ("tensor", "zeros"):
            setattr(self, factory, _on_cpu(getattr(torch, factory)))

    def __getattr__(self, name: str) -> Any:
        return getattr(torch, name)


class _NoRngTracker:
    """Megatron's tracker forks CUDA generators around dropout and initialisation; our models do neither."""

    @contextmanager
    def fork(self, name: str = "") -> Iterator[None]:  # noqa: ARG002
        yield

    def is_initialized(self) -> bool:
        return True


def _on_cpu(factory: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def on_cpu(*args: Any, **kwargs: Any) -> Tensor:
        return factory(*args, **{**kwargs, "device": "cpu"})

    return on_cpu


def _patch_megatron_for_cpu() -> None:
    cpu = torch.device("cpu")
    # Megatron passes the answer on as `device=` wherever it allocates.
    torch.cuda.current_device = lambda: cpu  # type: ignore[assignment, return-value]
    torch.cuda.synchronize = lambda *_: None
    torch.Tensor.cuda = lambda self, *_, **__: self  # type: ignore[method-assign]
    cpu_torch = _CpuTorch()
    for module in (schedules, clip_grads, optimizer, param_and_grad_buffer):
        module.torch = cpu_torch
    random._CUDA_RNG_STATE_TRACKER = _NoRngTracker()
    random._CUDA_RNG_STATE_TRACKER_INITIALIZED = True
    clip_grads.l2_norm_impl = _l2_norm
    # The original asserts that gradients are torch.cuda.FloatTensor; `optimizer` has it by name.
    clip_grads.clip_grad_by_total_norm_fp32 = _clip_by_total_norm
    optimizer.clip_grad_by_total_norm_fp32 = _clip_by_total_norm
    distrib_optimizer.DistributedOptimizer._build_model_and_main_param_groups = classmethod(_fp32_parameter_groups)
    assert p2p_communication.torch is torch, "p2p_communication must see the patched torch.cuda"


def _l2_norm(
    chunk_size: int,  # noqa: ARG001
    noop_flag: Tensor,  # noqa: ARG001
    tensor_lists: list[list[Tensor]],
    *args: Any,  # noqa: ARG001
) -> tuple[Tensor, None]:
    """Megatron's local_multi_tensor_l2_norm on the tensors' own device: the norm of all tensors as one vector, [1]."""
    norms = torch._foreach_norm(tensor_lists[0])
    return torch.linalg.vector_norm(torch.stack(norms)).reshape(1), None


@torch.no_grad()
def _clip_by_total_norm(
    parameters: list[Tensor], max_norm: float, total_norm: float, use_decoupled_grad: bool = False
) -> None:
    """Megatron's clip_grad_by_total_norm_fp32 without its CUDA assertion: scale in place by max_norm / total_norm."""
    assert not use_decoupled_grad, "decoupled gradients are for precision-aware optimizers on CUDA"
    coefficient = max_norm / (total_norm + 1.0e-6)
    if coefficient < 1.0:
        gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
        torch._foreach_mul_(gradients, coefficient)


def _fp32_parameter_groups(
    cls: type,  # noqa: ARG001
    gbuf_ranges: list[dict[Any, Any]],
    param_gbuf_map: dict[Tensor, tuple[int, Any, int]],
    opt_group_ranges: list[dict[str, Any]],
    config: Any,  # noqa: ARG001
) -> tuple[list[list[Tensor]], ...]:
    """Megatron's DistributedOptimizer._build_model_and_main_param_groups, which knows CUDA tensor types only, for the
    one case of a CPU: every parameter is float32, and what a rank updates of it is a view into it.
    """
    models: list[list[Tensor]] = []
    shards: list[list[Tensor]] = []
    for group_range in opt_group_ranges:
        models.append(group_range["params"])
        shards.append([])
        for parameter in group_range["params"]:
            buffer, dtype, bucket = param_gbuf_map[parameter]
            part = gbuf_ranges[buffer][dtype][bucket]["param_map"][parameter]["param"]
            shard = parameter.view(-1)[part.start : part.end]
            copy_tensor_model_parallel_attributes(shard, parameter)
            if hasattr(parameter, "shared"):
                # The gradient's norm counts the tied head of the last stage only once.
                shard.shared = parameter.shared
            shards[-1].append(shard)
        group_range["orig_group"]["params"] = shards[-1]
    nothing: list[list[Tensor]] = [[] for _ in models]
    return nothing, models, nothing, shards, nothing
