"""What Adam remembers of each parameter, read out of Megatron's optimizers and put back, whatever kind they are.

    FP32Optimizer          the parameter itself is what Adam moves
    Float16Optimizer…      Adam moves an fp32 copy, `parameter.main_param`
    DistributedOptimizer   each data-parallel rank has the moments of a stretch of the parameter

Called by `trainer/rank.py` for checkpoints. All tensors here have the shape of this rank's parameter, so that
`trainer/conversion.py` can turn them into whole tensors by Hugging Face names, as it does with weights.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from megatron.core.optimizer import MegatronOptimizer
from megatron.core.optimizer.distrib_optimizer import DistributedOptimizer
from torch import Tensor

MOMENTS = ("exp_avg", "exp_avg_sq")


@dataclass(frozen=True, slots=True, kw_only=True)
class AdamState:
    """The state of one rank's parameters, by their Megatron names."""

    num_updates: int
    """Updates so far; Adam corrects its moments for it."""
    weights: Mapping[str, Tensor]
    """What Adam moves, in fp32: the parameter, or the fp32 copy behind it."""
    moments: Mapping[str, Mapping[str, Tensor]]
    """`exp_avg` and `exp_avg_sq`, each by parameter."""


@torch.no_grad()
def read_adam_state(optimizer: MegatronOptimizer, parameters: Mapping[str, Tensor]) -> AdamState:
    """The state of these parameters, by name as they are and each tensor in its parameter's shape. Before the first
    update the moments are zero.

    All data-parallel ranks must call it: under the distributed optimizer each of them adds its stretches.
    """
    num_updates = 0
    weights: dict[str, Tensor] = {}
    moments: dict[str, dict[str, Tensor]] = {moment: {} for moment in MOMENTS}
    for name, parameter in parameters.items():
        part = _part_of(optimizer, parameter)
        num_updates = max(num_updates, part.num_updates)
        weights[name] = part.whole(part.main, like=parameter)
        for moment in MOMENTS:
            found = part.state.get(moment)
            moments[moment][name] = part.whole(torch.zeros_like(part.main) if found is None else found, like=parameter)
    return AdamState(num_updates=num_updates, weights=weights, moments=moments)


@torch.no_grad()
def write_adam_state(optimizer: MegatronOptimizer, parameters: Mapping[str, Tensor], state: AdamState) -> None:
    """Go on from this state, whose tensors have their parameters' names and shapes; the parameters are set too."""
    for name, parameter in parameters.items():
        parameter.copy_(state.weights[name])
        part = _part_of(optimizer, parameter)
        part.main.copy_(part.own(state.weights[name]))
        moments = {moment: part.own(state.moments[moment][name]).clone() for moment in MOMENTS}
        if part.counts_by_group:
            part.inner.state[part.main] = moments
            for group in part.inner.param_groups:
                group["step"] = state.num_updates
        else:
            part.inner.state[part.main] = {"step": torch.tensor(float(state.num_updates)), **moments}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """What this rank's optimizer holds of one parameter."""

    inner: Any
    """The torch optimizer."""
    main: Tensor
    """What it moves: the whole parameter, or a flat stretch of it."""
    stretch: tuple[int, int] | None
    group: Any
    """The ranks that hold the other stretches."""

    @property
    def state(self) -> Mapping[str, Any]:
        state: Mapping[str, Any] = self.inner.state.get(self.main, {})
        return state

    @property
    def counts_by_group(self) -> bool:
        """Whether the updates are counted for all parameters of a group at once: so the fused Adam of Transformer
        Engine and Apex, which Megatron takes where they are installed, does it, and torch's for each parameter.
        """
        return not isinstance(self.inner, torch.optim.Adam)

    @property
    def num_updates(self) -> int:
        if self.counts_by_group:
            return max((int(group.get("step", 0)) for group in self.inner.param_groups), default=0)
        return int(self.state.get("step", 0))

    def own(self, whole: Tensor) -> Tensor:
        return whole if self.stretch is None else whole.flatten()[slice(*self.stretch)]

    def whole(self, own: Tensor, *, like: Tensor) -> Tensor:
        if self.group is None:
            return own.detach().float()
        gathered = torch.zeros(like.numel(), dtype=torch.float32, device=like.device)
        if self.stretch is not None:
            gathered[slice(*self.stretch)] = own.detach().float()
        dist.all_reduce(gathered, group=self.group)
        return gathered.view(like.shape)


def _part_of(optimizer: MegatronOptimizer, parameter: Tensor) -> _Part:
    for leaf in _leaves(optimizer):
        if isinstance(leaf, DistributedOptimizer):
            if any(parameter in buffer.param_index_map for buffer in leaf.buffers):
                return _distributed_part(leaf, parameter)
        else:
            main = getattr(parameter, "main_param", parameter)
            if any(main is known for group in leaf.optimizer.param_groups for known in group["params"]):
                return _Part(inner=leaf.optimizer, main=main, stretch=None, group=None)
    raise ValueError("a parameter of the model is in no optimizer")


def _distributed_part(leaf: Any, parameter: Tensor) -> _Part:
    if parameter not in leaf.model_param_gbuf_map:
        # Another rank holds all of it: this one only takes part in the sum.
        nothing = torch.empty(0, device=parameter.device)
        return _Part(inner=leaf.optimizer, main=nothing, stretch=(0, 0), group=leaf.data_parallel_group)
    stretch = leaf._get_model_param_range_map(parameter)["param"]
    main = leaf._get_main_param_and_optimizer_states(parameter)["param"]
    return _Part(inner=leaf.optimizer, main=main, stretch=(stretch.start, stretch.end), group=leaf.data_parallel_group)


def _leaves(optimizer: MegatronOptimizer) -> Iterator[Any]:
    """Megatron chains an optimizer for each kind of parameter, or gives a single one."""
    yield from getattr(optimizer, "chained_optimizers", [optimizer])
