"""One rank's training: the steps of an iteration, each with its own global batch size.

    train(global_batch_sizes=…)                           all steps of an iteration
      └─ train_one_step(step_global_batch_size=…)         micro-batches, all-reduce, update; or skip
           ├─ loss_function(step_global_batch_size=…)     one micro-batch, called by Megatron's schedule
           └─ LrSchedule.advance(step_global_batch_size=…)

The step's loss is 1/step_global_batch_size · Σ_i loss_scale_i Σ_t mask·loss_t over all samples of all ranks. Nothing
here knows a configured batch size, and no mean is ever taken over a micro-batch or a rank.

Called by `trainer/rank.py`. Legend: N loss tokens of a micro-batch, V vocabulary columns of this rank.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Any

import torch
import torch.distributed as dist
from megatron.core import parallel_state
from megatron.core.distributed import DistributedDataParallel
from megatron.core.optimizer import MegatronOptimizer, clip_grads
from megatron.core.pipeline_parallel import get_forward_backward_func
from torch import Tensor

from trainer.contracts.metric import Metric, Reduction, mean, merge_metrics
from trainer.contracts.policy_trainer import StepStatus
from trainer.contracts.spec import LossSpec
from trainer.log_probs import vocab_parallel_log_probs
from trainer.losses import (
    TokenBatch,
    TokenMetric,
    logit_temperature,
    needs_rollout_data,
    reduce_metrics,
    token_loss,
)
from trainer.micro_batch import MicroBatch, dummy_micro_batch, to_micro_batch
from trainer.micro_batch_timer import MicroBatchTimer
from trainer.optimization import LrSchedule
from trainer.shard import RankShard, SampleArrays
from trainer.step_report import RankStepReport


@dataclass(slots=True, kw_only=True)
class TrainingState:
    """What a phase trains, and with what."""

    model: DistributedDataParallel
    optimizer: MegatronOptimizer
    lr_schedule: LrSchedule
    loss: LossSpec
    vocab_size: int
    device: torch.device
    step: int | None = None
    """Index of the step that runs now; for the report of a failure."""
    timer: MicroBatchTimer | None = None
    """The timers of the step that runs now."""


def train(state: TrainingState, shard: RankShard, *, global_batch_sizes: Sequence[int]) -> list[RankStepReport]:
    """Train this rank's share of an iteration, step by step."""
    micro_batches_of_steps = list(shard.steps())
    num_loss_tokens = _num_loss_tokens(micro_batches_of_steps, state.device)
    reports = []
    for step, micro_batches in enumerate(micro_batches_of_steps):
        state.step = step
        reports.append(
            train_one_step(
                state,
                micro_batches,
                step_global_batch_size=global_batch_sizes[step],
                has_signal=num_loss_tokens[step] > 0,
            )
        )
    state.step = None
    return reports


def train_one_step(
    state: TrainingState,
    micro_batches: Sequence[SampleArrays | None],
    *,
    step_global_batch_size: int,
    has_signal: bool,
) -> RankStepReport:
    """Forward, backward, all-reduce, and the update, unless the step must be skipped. All ranks decide alike.

    micro_batches: this rank's; None for a dummy.
    has_signal: whether any rank has a loss token.
    """
    started_at = perf_counter()
    position_before, lr = state.lr_schedule.position, state.lr_schedule.lr
    if has_signal:
        metrics, micro_batch_s = _forward_backward(state, micro_batches, step_global_batch_size=step_global_batch_size)
        status, grad_norm = _update(state, loss=_step_loss(metrics, state.device))
        metrics |= {"train/grad_norm": mean(grad_norm, 1)}
    else:
        status, micro_batch_s, metrics = StepStatus.SKIPPED_NO_SIGNAL, [0.0] * len(micro_batches), _no_metrics(state)
    if status.moved_weights:
        state.lr_schedule.advance(step_global_batch_size=step_global_batch_size)
    return RankStepReport(
        status=status,
        global_batch_size=step_global_batch_size,
        lr=lr,
        lr_position_before=position_before,
        lr_position_after=state.lr_schedule.position,
        train_s=perf_counter() - started_at,
        num_tokens=sum(int(samples.lengths.sum()) for samples in micro_batches if samples is not None),
        micro_batch_s=tuple(micro_batch_s),
        metrics=metrics,
    )


def loss_function(
    logits: Tensor,
    *,
    micro_batch: MicroBatch,
    loss: LossSpec,
    vocab_size: int,
    step_global_batch_size: int,
    num_microbatches: int,
) -> tuple[Tensor, dict[str, Metric]]:
    """The micro-batch's share of the step's loss, as Megatron's schedule wants it, and its metrics.

    logits: [1, N, V].

    Megatron divides the loss by num_microbatches in its schedule and the gradient by the data-parallel size in its DDP;
    both are multiplied in before, so that nothing but 1/step_global_batch_size is left.
    """
    log_probs, entropy = vocab_parallel_log_probs(
        logits[0],
        micro_batch.target_ids,
        vocab_size=vocab_size,
        temperature=logit_temperature(loss),
        group=parallel_state.get_tensor_model_parallel_group(),
    )
    tokens = TokenBatch(log_probs=log_probs, old_log_probs=micro_batch.old_log_probs, advantages=micro_batch.advantages)
    result = token_loss(loss, tokens)
    weighted = result.losses * micro_batch.loss_scales  # [N]
    scale = num_microbatches * parallel_state.get_data_parallel_world_size(with_context_parallel=True)
    share = weighted.sum() / step_global_batch_size * scale
    entropies = TokenMetric(reduction=Reduction.MEAN, values=entropy)
    weights = TokenMetric(reduction=Reduction.SUM, values=weighted)
    metrics = reduce_metrics({**result.metrics, "train/entropy": entropies, "train/loss": weights})
    # Σ over ranks and micro-batches gives total / count = the step's loss, with its global batch size as the weight.
    metrics["train/loss"] = mean(metrics["train/loss"].total, micro_batch.num_samples)
    return share, metrics


def _forward_backward(
    state: TrainingState, micro_batches: Sequence[SampleArrays | None], *, step_global_batch_size: int
) -> tuple[dict[str, Metric], list[float]]:
    """Leaves the step's gradient in the model; returns this rank's metrics and seconds per micro-batch."""
    num_microbatches = len(micro_batches)
    # Megatron's DDP accumulates into main_grad and expects param.grad to be unset before every backward.
    state.model.zero_grad_buffer()
    state.optimizer.zero_grad()
    timer = state.timer = state.model.config.timers = MicroBatchTimer()
    loss = partial(
        loss_function,
        loss=state.loss,
        vocab_size=state.vocab_size,
        step_global_batch_size=step_global_batch_size,
        num_microbatches=num_microbatches,
    )
    reports: list[dict[str, Metric]] = get_forward_backward_func()(
        forward_step_func=partial(_forward_step, loss_function=loss, device=state.device),
        data_iterator=_micro_batches(state, micro_batches),
        model=[state.model],
        num_microbatches=num_microbatches,
        # With variable_seq_lengths the stages tell each other the true shapes.
        seq_length=1,
        micro_batch_size=1,
        forward_only=False,
    )
    seconds = timer.micro_batch_s()
    state.timer = None
    skipped = [samples is None and _skips_dummies() for samples in micro_batches]
    return merge_metrics(reports), [0.0 if skip else s for skip, s in zip(skipped, seconds, strict=True)]


def _micro_batches(state: TrainingState, micro_batches: Sequence[SampleArrays | None]) -> Iterator[MicroBatch | None]:
    """The micro-batches as tensors, each made when its turn comes; None where there is nothing to run."""
    for samples in micro_batches:
        if samples is not None:
            yield to_micro_batch(samples, state.device)
        elif _skips_dummies():
            yield None
        else:
            yield dummy_micro_batch(state.device, with_rollout_data=needs_rollout_data(state.loss))


def _skips_dummies() -> bool:
    """Without a pipeline nobody waits for this rank between micro-batches."""
    return bool(parallel_state.get_pipeline_model_parallel_world_size() == 1)


def _forward_step(
    data_iterator: Iterator[MicroBatch | None],
    model: torch.nn.Module,
    *,
    loss_function: partial[tuple[Tensor, dict[str, Metric]]],
    device: torch.device,
) -> tuple[Tensor, Any]:
    """What Megatron's schedule calls for each micro-batch; it then applies the returned function to the output."""
    micro_batch = next(data_iterator)
    if micro_batch is None:
        # Without requires_grad the schedule runs no backward.
        return torch.zeros((), device=device), _no_loss
    output = model(
        input_ids=micro_batch.token_ids,
        position_ids=micro_batch.row.positions,
        attention_mask=None,
        packed_seq_params=micro_batch.row,
    )
    return output, partial(loss_function, micro_batch=micro_batch)


def _no_loss(output: Tensor) -> tuple[Tensor, dict[str, Metric]]:
    return output, {}


def _update(state: TrainingState, *, loss: float) -> tuple[StepStatus, float]:
    """Clip and step the optimizer if loss and gradient are finite. Returns the norm before clipping."""
    optimizer = state.optimizer
    optimizer.prepare_grads()
    grad_norm = float(optimizer.get_grad_norm())
    if not (math.isfinite(loss) and math.isfinite(grad_norm)):
        return StepStatus.SKIPPED_NON_FINITE, grad_norm
    if optimizer.config.clip_grad > 0:
        clip_grads.clip_grad_by_total_norm_fp32(optimizer.get_parameters(), optimizer.config.clip_grad, grad_norm)
    optimizer.step_with_ready_grads()
    return StepStatus.TRAINED, grad_norm


def _step_loss(metrics: dict[str, Metric], device: torch.device) -> float:
    """A number that every rank of the world computes alike and that is finite only if the step's loss is."""
    # float64 survives sums of large float32 losses, and NaN and infinities survive the sum.
    total = metrics["train/loss"].total if "train/loss" in metrics else 0.0
    shared = torch.tensor([total], dtype=torch.float64, device=device)
    dist.all_reduce(shared)
    return float(shared.item())


def _num_loss_tokens(steps: Sequence[Sequence[SampleArrays | None]], device: torch.device) -> list[int]:
    """Loss tokens of each step over all data-parallel ranks."""
    counts = [sum(samples.num_loss_tokens for samples in step if samples is not None) for step in steps]
    shared = torch.tensor(counts, dtype=torch.int64, device=device)
    dist.all_reduce(shared, group=parallel_state.get_data_parallel_group(with_context_parallel=True))
    return [int(count) for count in shared.tolist()]


def _no_metrics(state: TrainingState) -> dict[str, Metric]:
    """The names that the step would have had, each without a value."""
    nothing = torch.empty(0, device=state.device)
    names = token_loss(state.loss, TokenBatch(log_probs=nothing, old_log_probs=nothing, advantages=nothing)).metrics
    means = {name: mean(0.0, 0) for name in ("train/loss", "train/entropy", "train/grad_norm")}
    return reduce_metrics(names) | means
