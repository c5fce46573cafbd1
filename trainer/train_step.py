"""One rank's training: the steps of an iteration, each with its own global batch size.

    train(global_batch_sizes=…)                           all steps of an iteration
      └─ train_one_step(step_global_batch_size=…)         forward, backward, all-reduce, update; or skip
           ├─ forward_backward(step_global_batch_size=…)
           │    └─ loss_function(step_global_batch_size=…)     one micro-batch
           └─ LrSchedule.advance(step_global_batch_size=…, step_num_tokens=…)

The step's loss is 1/step_global_batch_size · Σ_i loss_scale_i Σ_t mask·loss_t over all samples of all ranks. Nothing
here knows a configured batch size, and no mean is ever taken over a micro-batch or a rank.

Called by `trainer/rank.py` on every rank at once; all ranks take the same decisions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from time import perf_counter

import torch
import torch.distributed as dist
from megatron.core import parallel_state
from megatron.core.optimizer import MegatronOptimizer, clip_grads

from trainer.contracts.loss_spec import LossSpec
from trainer.contracts.metric import Metric, mean
from trainer.contracts.policy_trainer import StepStatus
from trainer.contracts.span import Activity, Span
from trainer.device import peak_memory_bytes, wait_for
from trainer.forward_backward import StepPasses, forward_backward
from trainer.gradient_share import measured_share
from trainer.losses.table import token_loss
from trainer.losses.token_batch import no_tokens, reduce_metrics
from trainer.micro_batch_timer import MicroBatchTimer
from trainer.model import ModelChunks
from trainer.optimization import LrSchedule
from trainer.shard import RankShard, SampleArrays
from trainer.step_report import RankStepReport


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTotals:
    """What the data-parallel ranks hold of one step, all together."""

    num_tokens: int
    """Prompts included."""
    num_loss_tokens: int


@dataclass(slots=True, kw_only=True)
class TrainingState:
    """What a phase trains, and with what."""

    model: ModelChunks
    optimizer: MegatronOptimizer
    lr_schedule: LrSchedule
    loss: LossSpec
    device: torch.device
    measure_noise: bool = False
    """Whether each report tells the norm of this rank's own gradient."""
    step: int | None = None
    """Index of the step that runs now, and its timer, for the report of a failure."""
    timer: MicroBatchTimer | None = None


def train(state: TrainingState, shard: RankShard, *, global_batch_sizes: Sequence[int]) -> list[RankStepReport]:
    """Train this rank's share of an iteration, step by step."""
    steps = list(shard.steps())
    totals = _step_totals(steps, state.device)
    reports = []
    for step, micro_batches in enumerate(steps):
        state.step, state.timer = step, MicroBatchTimer(partial(wait_for, state.device))
        reports.append(
            train_one_step(
                state,
                micro_batches,
                step_global_batch_size=global_batch_sizes[step],
                step_num_tokens=totals[step].num_tokens,
                has_signal=totals[step].num_loss_tokens > 0,
            )
        )
    state.step = state.timer = None
    return reports


def train_one_step(
    state: TrainingState,
    micro_batches: Sequence[SampleArrays | None],
    *,
    step_global_batch_size: int,
    step_num_tokens: int,
    has_signal: bool,
) -> RankStepReport:
    """Compute the gradient and update the weights, unless the step must be skipped.

    micro_batches: this rank's; None for a dummy.
    step_num_tokens: over all data-parallel ranks, prompts included.
    has_signal: whether any rank has a loss token in this step.
    """
    started_at = perf_counter()
    lr, position_before = state.lr_schedule.lr, state.lr_schedule.position
    share_sq_norm = None
    if has_signal:
        with measured_share(state.model[0].config) if state.measure_noise else nullcontext() as meter:
            passes = _gradient(state, micro_batches, step_global_batch_size=step_global_batch_size)
        share_sq_norm = meter.sq_norm if meter is not None else None
        status, grad_norm = _update(state, step_loss=_shared_loss(passes.metrics, state.device))
        passes.metrics["train/grad_norm"] = mean(grad_norm, 1)
    else:
        status, passes = StepStatus.SKIPPED_NO_SIGNAL, _no_passes(state, num_microbatches=len(micro_batches))
    if status.moved_weights:
        state.lr_schedule.advance(step_global_batch_size=step_global_batch_size, step_num_tokens=step_num_tokens)
    wait_for(state.device)
    train_s = perf_counter() - started_at
    return RankStepReport(
        status=status,
        global_batch_size=step_global_batch_size,
        lr=lr,
        lr_position_before=position_before,
        lr_position_after=state.lr_schedule.position,
        train_s=train_s,
        num_tokens=sum(int(samples.lengths.sum()) for samples in micro_batches if samples is not None),
        micro_batch_s=passes.micro_batch_s,
        num_positions=passes.num_positions,
        non_finite=passes.non_finite,
        peak_memory_bytes=peak_memory_bytes(state.device),
        metrics=passes.metrics,
        share_sq_norm=share_sq_norm,
        spans=_spans(passes, until_s=started_at + train_s),
    )


def _gradient(
    state: TrainingState, micro_batches: Sequence[SampleArrays | None], *, step_global_batch_size: int
) -> StepPasses:
    # The optimizer leaves param.grad set to DDP's main_grad; backward would add to it there, and then once more.
    state.optimizer.zero_grad()
    assert state.timer is not None
    return forward_backward(
        state.model,
        micro_batches,
        loss=state.loss,
        step_global_batch_size=step_global_batch_size,
        timer=state.timer,
        device=state.device,
    )


def _update(state: TrainingState, *, step_loss: float) -> tuple[StepStatus, float]:
    """Clip and step the optimizer if loss and gradient are finite. Returns the norm before clipping too."""
    optimizer = state.optimizer
    optimizer.prepare_grads()
    grad_norm = float(optimizer.get_grad_norm())
    if not (math.isfinite(step_loss) and math.isfinite(grad_norm)):
        return StepStatus.SKIPPED_NON_FINITE, grad_norm
    if optimizer.config.clip_grad > 0:
        # By way of the module: on a CPU `trainer/device.py` replaces the function there.
        clip_grads.clip_grad_by_total_norm_fp32(optimizer.get_parameters(), optimizer.config.clip_grad, grad_norm)
    optimizer.step_with_ready_grads()
    return StepStatus.TRAINED, grad_norm


def _shared_loss(metrics: dict[str, Metric], device: torch.device) -> float:
    """A number that is the same on every rank of the world, and finite only if the step's loss is."""
    # Only last pipeline stages have a loss. float64, because the sum of large float32 losses must not overflow.
    total = metrics["train/loss"].total if "train/loss" in metrics else 0.0
    shared = torch.tensor([total], dtype=torch.float64, device=device)
    dist.all_reduce(shared)
    return float(shared.item())


def _step_totals(steps: Sequence[Sequence[SampleArrays | None]], device: torch.device) -> list[StepTotals]:
    """What each step holds over all data-parallel ranks, in one message for all steps."""
    held = [[samples for samples in step if samples is not None] for step in steps]
    counts = [
        [sum(int(samples.lengths.sum()) for samples in step), sum(samples.num_loss_tokens for samples in step)]
        for step in held
    ]
    shared = torch.tensor(counts, dtype=torch.int64, device=device)  # [steps, 2]
    # The ranks of one context-parallel group hold the same samples: each sample is to be counted once.
    dist.all_reduce(shared, group=parallel_state.get_data_parallel_group())
    return [StepTotals(num_tokens=tokens, num_loss_tokens=loss_tokens) for tokens, loss_tokens in shared.tolist()]


def _spans(passes: StepPasses, *, until_s: float) -> tuple[Span, ...]:
    """What this rank did until the step was over: what follows the last micro-batch is the optimizer's."""
    if not passes.spans:
        return ()
    update = Span(activity=Activity.OPTIMIZER, start_s=passes.spans[-1].end_s, end_s=until_s)
    return (*passes.spans, update)


def _no_passes(state: TrainingState, *, num_microbatches: int) -> StepPasses:
    """The metrics that the step would have had, each without a value."""
    of_loss = token_loss(state.loss, no_tokens(state.device))
    names = ("train/loss", "train/entropy", "train/grad_norm", "perf/padding_frac", *of_loss.parts)
    return StepPasses(
        metrics=reduce_metrics(of_loss.metrics) | {name: mean(0.0, 0) for name in names},
        micro_batch_s=(0.0,) * num_microbatches,
        num_positions=(0,) * num_microbatches,
        non_finite=(),
        spans=(),
    )
