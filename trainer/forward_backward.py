"""Forward and backward of one step's micro-batches on one rank, through Megatron's pipeline schedule.

`trainer/train_step.py` calls `forward_backward`; Megatron's schedule calls `_forward_step` for each micro-batch and
then `loss_function` on its output. A micro-batch without samples is a dummy: without a pipeline it is skipped at no
cost, with one it runs as a single token without loss, so that all stages go through the same number of micro-batches.

Legend: N loss tokens of a micro-batch, n those whose log-probs this context-parallel rank computes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import tee
from typing import Any

import torch
from megatron.core import parallel_state
from megatron.core.pipeline_parallel import get_forward_backward_func
from megatron.core.pipeline_parallel.schedules import get_schedule_table
from torch import Tensor

from trainer.contracts.loss_spec import LossSpec
from trainer.contracts.metric import Metric, Reduction, mean, merge_metrics
from trainer.contracts.span import Span
from trainer.losses.table import logit_temperature, token_loss
from trainer.losses.token_batch import TokenBatch, TokenMetric, reduce_metrics, token_mean
from trainer.micro_batch import MicroBatch, RankPlace, dummy_micro_batch, to_micro_batch
from trainer.micro_batch_timer import MicroBatchTimer
from trainer.model import ModelChunks
from trainer.shard import SampleArrays, needed_arrays

LossAndMetrics = tuple[Tensor, dict[str, Metric]]


@dataclass(frozen=True, slots=True, kw_only=True)
class StepPasses:
    """What one rank's passes over a step's micro-batches tell."""

    metrics: dict[str, Metric]
    micro_batch_s: tuple[float, ...]
    """Seconds by micro-batch, 0 where a dummy was skipped."""
    num_positions: tuple[int, ...]
    """Positions computed by micro-batch, see `StepRecord`; known on the last pipeline stage."""
    non_finite: tuple[int, ...]
    """Micro-batches whose loss is NaN or infinite; known on the last pipeline stage."""
    spans: tuple[Span, ...]
    """When the micro-batches ran, by this process's clock."""


def forward_backward(
    model: ModelChunks,
    micro_batches: Sequence[SampleArrays | None],
    *,
    loss: LossSpec,
    step_global_batch_size: int,
    timer: MicroBatchTimer,
    device: torch.device,
) -> StepPasses:
    """Leave the step's gradient in the model, summed over all data- and context-parallel ranks.

    model: this rank's chunks.
    micro_batches: this rank's; None for a dummy.
    timer: a fresh one; it can be asked meanwhile how far the step has come.
    """
    for chunk in model:
        chunk.zero_grad_buffer()
    model[0].config.timers = timer
    if len(model) > 1:
        timer.micro_batch_of_pass = _micro_batch_of_pass(model, len(micro_batches))
    apply_loss = partial(
        loss_function,
        loss=loss,
        step_global_batch_size=step_global_batch_size,
        num_microbatches=len(micro_batches),
    )
    kept = run_schedule(
        model,
        micro_batches,
        apply=apply_loss,
        arrays=needed_arrays(loss),
        temperature=logit_temperature(loss),
        forward_only=False,
        device=device,
    )
    skipped = [samples is None and _skips_dummies(model) for samples in micro_batches]
    seconds = tuple(0.0 if skip else s for skip, s in zip(skipped, timer.micro_batch_s(), strict=True))
    return StepPasses(
        metrics=merge_metrics(kept),
        micro_batch_s=seconds,
        num_positions=tuple(map(_num_positions, kept)),
        non_finite=tuple(k for k, metrics in enumerate(kept) if not _is_finite(metrics)),
        spans=tuple(timer.spans(skipped=skipped)),
    )


def run_schedule(
    model: ModelChunks,
    micro_batches: Sequence[SampleArrays | None],
    *,
    apply: Callable[..., tuple[Tensor, Any]],
    arrays: Sequence[str],
    temperature: float,
    forward_only: bool,
    device: torch.device,
) -> list[Any]:
    """Run the micro-batches through Megatron's pipeline schedule.

    apply: from log-probs and entropies [2, n] and the `micro_batch` to a loss and something to keep, on the last stage.
    arrays: names of what it reads of rollouts.
    temperature: what logits are divided by before the softmax.

    Returns what was kept of each micro-batch, an empty dictionary for a skipped dummy; on earlier stages nothing.
    """
    kept: list[Any] = get_forward_backward_func()(
        forward_step_func=partial(_forward_step, apply=apply, device=device),
        data_iterator=_iterators(model, micro_batches, device, arrays=arrays, temperature=temperature),
        model=list(model),
        num_microbatches=len(micro_batches),
        # Stages tell each other the true shapes (variable_seq_lengths).
        seq_length=1,
        micro_batch_size=1,
        forward_only=forward_only,
    )
    return kept


def loss_function(
    of_rank: Tensor,
    *,
    micro_batch: MicroBatch,
    loss: LossSpec,
    step_global_batch_size: int,
    num_microbatches: int,
) -> LossAndMetrics:
    """The micro-batch's share of the step's loss, as Megatron's schedule wants it, and its metrics.

    of_rank: [2, n], log-probs and entropies of this rank's loss tokens.

    Megatron divides the loss by num_microbatches and multiplies it by the context-parallel size in its schedule, and
    divides the gradient by data- and context-parallel size in its DDP: what is left of that is multiplied in before, so
    that nothing but 1/step_global_batch_size remains. Every context-parallel rank computes the whole loss, each with
    the gradient of its own tokens.
    """
    log_probs, entropy = micro_batch.of_all_ranks(of_rank)  # [N] each
    result = token_loss(loss, _token_batch(micro_batch, log_probs, entropy))
    weighted = result.losses * micro_batch.loss_scales  # [N]
    cancelled_by_megatron = num_microbatches * parallel_state.get_data_parallel_world_size()
    share = weighted.sum() / step_global_batch_size * cancelled_by_megatron
    parts = {name: part * micro_batch.loss_scales for name, part in result.parts.items()} | {"train/loss": weighted}
    sums = {name: TokenMetric(reduction=Reduction.SUM, values=part) for name, part in parts.items()}
    metrics = reduce_metrics({**result.metrics, "train/entropy": token_mean(entropy), **sums})
    metrics["perf/padding_frac"] = mean(micro_batch.num_padding, micro_batch.num_positions)
    # Over all ranks and micro-batches, total / count is the step's loss, and its weight the global batch size.
    return share, metrics | {name: mean(metrics[name].total, micro_batch.num_samples) for name in sums}


def _token_batch(micro_batch: MicroBatch, log_probs: Tensor, entropy: Tensor) -> TokenBatch:
    rollout = micro_batch.rollout
    return TokenBatch(
        log_probs=log_probs,
        entropy=entropy,
        sample_index=micro_batch.sample_index,
        num_samples=micro_batch.num_samples,
        advantages=rollout.advantages,
        old_log_probs=rollout.old_log_probs,
        engine_log_probs=rollout.engine_log_probs,
        reference_log_probs=rollout.reference_log_probs,
    )


def _forward_step(
    data_iterator: Iterator[MicroBatch | None],
    model: torch.nn.Module,
    *,
    apply: Callable[..., tuple[Tensor, Any]],
    device: torch.device,
) -> tuple[Tensor, Callable[[Tensor], tuple[Tensor, Any]]]:
    """Run the model on the next micro-batch; Megatron applies the returned function to its output."""
    micro_batch = next(data_iterator)
    if micro_batch is None:
        # Nothing here requires a gradient, and so the schedule runs no backward.
        return torch.zeros((), device=device), _no_loss
    output = model(
        input_ids=micro_batch.token_ids,
        position_ids=micro_batch.row.position_ids,
        attention_mask=None,
        packed_seq_params=micro_batch.row,
    )
    return output, partial(apply, micro_batch=micro_batch)


def _num_positions(metrics: Mapping[str, Metric]) -> int:
    """What the share of padding is a share of; a skipped dummy has no metrics, and computed nothing."""
    padding = metrics.get("perf/padding_frac")
    return 0 if padding is None else int(padding.count)


def _is_finite(metrics: Mapping[str, Metric]) -> bool:
    return "train/loss" not in metrics or math.isfinite(metrics["train/loss"].total)


def _no_loss(output: Tensor) -> LossAndMetrics:
    return output, {}


def _iterators(
    model: ModelChunks,
    micro_batches: Sequence[SampleArrays | None],
    device: torch.device,
    *,
    arrays: Sequence[str],
    temperature: float,
) -> Any:
    """What Megatron draws micro-batches from: an iterator, or one for each chunk of an interleaved pipeline."""
    on_device = _to_device(model, micro_batches, device, arrays=arrays, temperature=temperature)
    return on_device if len(model) == 1 else list(tee(on_device, len(model)))


def _to_device(
    model: ModelChunks,
    micro_batches: Sequence[SampleArrays | None],
    device: torch.device,
    *,
    arrays: Sequence[str],
    temperature: float,
) -> Iterator[MicroBatch | None]:
    """Each micro-batch as tensors when its turn comes; None where there is nothing to run."""
    place, skips_dummies = _place(model), _skips_dummies(model)
    for samples in micro_batches:
        if samples is not None:
            yield to_micro_batch(samples, device, place, temperature=temperature)
        elif skips_dummies:
            yield None
        else:
            yield dummy_micro_batch(device, place, arrays=arrays)


def _place(model: ModelChunks) -> RankPlace:
    config = model[0].config
    return RankPlace(
        cp_group=parallel_state.get_context_parallel_group() if config.context_parallel_size > 1 else None,
        row_multiple=config.tensor_model_parallel_size if config.sequence_parallel else 1,
    )


def _skips_dummies(model: ModelChunks) -> bool:
    """Nobody waits for this rank between micro-batches: neither another stage, nor one that reduces gradients already
    while the last is computed.
    """
    return bool(
        parallel_state.get_pipeline_model_parallel_world_size() == 1 and not model[0].ddp_config.overlap_grad_reduce
    )


def _micro_batch_of_pass(model: ModelChunks, num_microbatches: int) -> list[int]:
    """The micro-batch of each pass through a chunk, in the order of an interleaved pipeline, forward as backward."""
    table = get_schedule_table(num_microbatches, len(model), model[0].config.microbatch_group_size_per_vp_stage)
    return [micro_batch for micro_batch, _ in table]
