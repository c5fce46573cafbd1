"""The only module that knows CPU from CUDA: what Megatron-Core 0.16 needs replaced to run on a CPU with gloo.

`trainer/rank.py` calls `open_device` once per process, before it builds anything. CUDA takes none of the patches; its
path is written but no test here has run it.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any, Literal

import torch
from megatron.core.optimizer import clip_grads, optimizer
from megatron.core.pipeline_parallel import p2p_communication, schedules

DeviceType = Literal["cpu", "cuda"]

BACKENDS: dict[DeviceType, str] = {"cpu": "gloo", "cuda": "nccl"}
"""torch.distributed backend by device type."""


def open_device(device_type: DeviceType) -> torch.device:
    """Make this process ready to run Megatron on the device; idempotent."""
    if device_type == "cuda":
        # Ray shows each actor only its own GPU, so that it is always the first.
        torch.cuda.set_device(0)
        return torch.device("cuda", 0)
    _patch_megatron_for_cpu()
    return torch.device("cpu")


class _CpuTorch(ModuleType):
    """`torch` as seen by one Megatron module: factories that ask for device="cuda" answer with CPU tensors."""

    def __init__(self) -> None:
        super().__init__("torch")
        for factory in ("tensor", "zeros"):
            setattr(self, factory, _on_cpu(getattr(torch, factory)))

    def __getattr__(self, name: str) -> Any:
        return getattr(torch, name)


def _on_cpu(factory: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    def on_cpu(*args: Any, **kwargs: Any) -> torch.Tensor:
        return factory(*args, **{**kwargs, "device": "cpu"})

    return on_cpu


def _patch_megatron_for_cpu() -> None:
    cpu = torch.device("cpu")
    # Megatron passes the answer on as `device=` wherever it allocates.
    torch.cuda.current_device = lambda: cpu  # type: ignore[assignment, return-value]
    torch.cuda.synchronize = lambda *_: None
    torch.Tensor.cuda = lambda self, *_, **__: self  # type: ignore[method-assign]
    cpu_torch = _CpuTorch()
    for module in (schedules, clip_grads, optimizer):
        module.torch = cpu_torch
    clip_grads.l2_norm_impl = _l2_norm
    # The original asserts that gradients are torch.cuda.FloatTensor; `optimizer` has it by name.
    clip_grads.clip_grad_by_total_norm_fp32 = _clip_by_total_norm
    optimizer.clip_grad_by_total_norm_fp32 = _clip_by_total_norm
    assert p2p_communication.torch is torch, "p2p_communication must see the patched torch.cuda"


def _l2_norm(
    chunk_size: int,  # noqa: ARG001
    noop_flag: torch.Tensor,  # noqa: ARG001
    tensor_lists: list[list[torch.Tensor]],
    *args: Any,  # noqa: ARG001
) -> tuple[torch.Tensor, None]:
    """Megatron's local_multi_tensor_l2_norm on the tensors' own device: the norm of all tensors as one vector, [1]."""
    norms = torch._foreach_norm(tensor_lists[0])
    return torch.linalg.vector_norm(torch.stack(norms)).reshape(1), None


@torch.no_grad()
def _clip_by_total_norm(
    parameters: list[torch.Tensor], max_norm: float, total_norm: float, use_decoupled_grad: bool = False
) -> None:
    """Megatron's clip_grad_by_total_norm_fp32 without its CUDA assertion: scale in place by max_norm / total_norm."""
    assert not use_decoupled_grad, "decoupled gradients are for precision-aware optimizers on CUDA"
    coefficient = max_norm / (total_norm + 1.0e-6)
    if coefficient < 1.0:
        gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
        torch._foreach_mul_(gradients, coefficient)
