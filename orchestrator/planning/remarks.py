"""What a plan takes for granted, and what in it is possible but probably not meant: a sentence each, with its field."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from orchestrator.batching.batch_size import BatchPosition, next_size
from orchestrator.contracts.batch_spec import (
    AdaptiveBatchSpec,
    AllBatchSpec,
    BatchSpec,
    ExplicitBatchSpec,
    RampBatchSpec,
    TokenBudgetBatchSpec,
)
from orchestrator.contracts.plan import PlanRequest
from orchestrator.contracts.rollout_spec import ZeroVariancePolicy
from orchestrator.contracts.schedule_spec import Balance, CostSource
from orchestrator.planning.foreseen import Foreseen
from orchestrator.planning.sample_lengths import DeclaredLengths, KnownLengths
from orchestrator.planning.step_sizes import StepSize
from trainer.contracts.optimizer_spec import LrScheduleSpec, LrUnit

_NOTABLE_FRAC = 0.1
"""A tenth of the ranks' time, or of the samples: less is not worth a sentence."""


def assumptions(request: PlanRequest, foreseen: Foreseen) -> Iterator[str]:
    """What was taken for granted."""
    spec = request.spec
    yield f"lengths: {foreseen.lengths.source}; the mean of what is drawn is {foreseen.lengths.mean:,.1f} tokens."
    if request.kept_frac < 1:
        yield f"kept_frac: the filter leaves {request.kept_frac:.1%} of the rollouts, whole groups at a time."
    elif spec.filter.zero_variance is ZeroVariancePolicy.EXCLUDE:
        yield "kept_frac: the filter leaves every rollout; filter.zero_variance=exclude makes real steps smaller."
    yield "batch: every rollout gives one sample."
    yield from _size_assumptions(request, foreseen)
    if spec.warm_start is not None:
        yield "warm_start: its steps come first and are not planned, because they end by reward; step 0 follows them."
    if spec.optimizer.lr_schedule.unit is LrUnit.TOKENS:
        yield "optimizer.lr_schedule.unit: a step moves the position by its expected tokens, samples × mean length."
    if foreseen.model.problem is not None:
        yield f"model.path: cost goes by tokens, the logits' size is unknown: {foreseen.model.problem}."
    if spec.schedule.cost is CostSource.MEASURED:
        yield "schedule.cost: the model's shape predicts all times here; there are no measured ones before launch."


def _size_assumptions(request: PlanRequest, foreseen: Foreseen) -> Iterator[str]:
    batch, sizes = request.spec.batch, foreseen.sizes
    if isinstance(batch, AdaptiveBatchSpec):
        size = "all that an iteration keeps" if batch.global_batch_size is None else batch.global_batch_size
        yield f"batch: sizes stay at {size}; only the measured noise scale can propose others."
    if isinstance(batch, TokenBudgetBatchSpec):
        yield "batch.tokens_per_step: each step has as many rollouts as the mean length makes of it."
    if not sizes.counted:
        yield "iterations: totals go on from the last steps that were counted one by one."
    if (num_scheduled := len(foreseen.scheduled)) < min(len(foreseen.steps), request.max_scheduled_steps):
        yield f"max_scheduled_steps: only {num_scheduled} steps are cut into micro-batches, because that takes long."


def warnings(request: PlanRequest, foreseen: Foreseen) -> Iterator[str]:
    """What can be done and is probably not meant."""
    spec, geometry = request.spec, foreseen.geometry
    if not foreseen.steps:
        yield _why_nothing(request.kept_frac, foreseen)
        return
    yield from _size_warnings(request, foreseen)
    yield from _lr_warnings(spec.optimizer.lr_schedule, foreseen.last_lr_position, kept_frac=request.kept_frac)
    yield from _length_warnings(foreseen, longest=spec.max_sample_tokens)
    yield from _idle_warnings(spec.schedule.balance, foreseen)
    with_dummies = sum(step.num_dummies > 0 for step in foreseen.scheduled)
    if not geometry.skips_dummies and with_dummies * 2 > len(foreseen.scheduled):
        yield (
            f"parallelism.dp: {with_dummies} of {len(foreseen.scheduled)} scheduled steps run dummy micro-batches, "
            "because they have too few samples for equal counts on every rank; lower dp, or make steps larger."
        )


def _why_nothing(kept_frac: float, foreseen: Foreseen) -> str:
    if foreseen.sizes.num_dropped:
        return "batch.remainder: no step is ever full, and what is left over is dropped: the run trains nothing."
    return (
        f"kept_frac: {kept_frac:.3g} of the rollouts are not one whole group in all iterations: the run trains nothing."
    )


def _unreached_warnings(batch: BatchSpec, steps: Sequence[StepSize]) -> Iterator[str]:
    """Sizes that steps ask for and no step has, because there are not enough rollouts; under `drop` there are none."""
    if isinstance(batch, AllBatchSpec | TokenBudgetBatchSpec):
        return
    unreached: dict[int, int] = {}
    position = BatchPosition()
    for step in steps:
        asked = next_size(batch, position)
        if asked is not None and asked > step.num_rollouts:
            unreached.setdefault(asked, position.step)
        position = position.after(step.num_rollouts)
    reached = {step.num_rollouts for step in steps}
    missing = {size: first for size, first in unreached.items() if size not in reached}
    if missing:
        size, first = next(iter(missing.items()))
        more = f", nor are {len(missing) - 1} other sizes" if len(missing) > 1 else ""
        yield (
            f"{_size_field(batch)}: a size of {size:,} rollouts is asked for from step {first:,} on and never reached"
            f"{more}; the largest step has {max(reached):,}."
        )


def _size_field(batch: BatchSpec) -> str:
    match batch:
        case RampBatchSpec():
            return "batch.end"
        case ExplicitBatchSpec():
            return "batch.sizes" if batch.table is None else "batch.table"
        case _:
            return "batch.global_batch_size"


def _size_warnings(request: PlanRequest, foreseen: Foreseen) -> Iterator[str]:
    sizes, batch, dp = foreseen.sizes, request.spec.batch, foreseen.geometry.dp_size
    generated = sizes.num_rollouts + sizes.num_dropped
    if sizes.num_dropped > _NOTABLE_FRAC * generated:
        yield (
            f"batch.remainder: {sizes.num_dropped:,} of {generated:,} kept rollouts fill no step and are dropped; "
            "take carry or partial, or a size that divides what an iteration keeps."
        )
    yield from _unreached_warnings(batch, sizes.steps)
    small = sum(step.num_rollouts < dp for step in sizes.steps)
    if small:
        yield (
            f"parallelism.dp: {small:,} of {len(sizes.steps):,} steps have fewer samples than dp={dp} ranks, "
            "some of which idle; lower dp, or make steps larger."
        )
    if isinstance(batch, RampBatchSpec) and sizes.num_rollouts < batch.over_samples:
        yield (
            f"batch.over_samples: the ramp takes {batch.over_samples:,} samples, the run has {sizes.num_rollouts:,}; "
            f"it never reaches batch.end={batch.end}."
        )


def _lr_warnings(schedule: LrScheduleSpec, end: float, *, kept_frac: float) -> Iterator[str]:
    unit = schedule.unit
    if schedule.warmup >= end:
        yield (
            f"optimizer.lr_schedule.warmup: {schedule.warmup:,} {unit} are more than the run's {end:,.0f}; "
            "the learning rate never reaches optimizer.lr."
        )
    if schedule.style == "constant" or schedule.decay is None:
        return
    if schedule.decay < 0.8 * end:
        rest = "nothing" if schedule.min_lr_frac == 0 else f"{schedule.min_lr_frac:g} of optimizer.lr"
        yield (
            f"optimizer.lr_schedule.decay: it ends at {schedule.decay:,} of {end:,.0f} {unit}; "
            f"with kept_frac={kept_frac:g} the last {1 - schedule.decay / end:.0%} of the run train with {rest}."
        )
    if schedule.decay > 1.5 * end:
        yield (
            f"optimizer.lr_schedule.decay: it ends at {schedule.decay:,} {unit}, but the run after {end:,.0f}; "
            "the learning rate is still high then."
        )


def _length_warnings(foreseen: Foreseen, *, longest: int) -> Iterator[str]:
    cap, lengths = foreseen.geometry.micro_batch_token_cap, foreseen.lengths
    if cap is not None and cap < longest:
        yield _cap_warning(foreseen, cap=cap, longest=longest)
    if isinstance(lengths, KnownLengths) and lengths.num_cut:
        yield (
            f"lengths: {lengths.num_cut:,} of {len(lengths.num_tokens):,} are longer than the {longest:,} tokens that "
            "data.max_prompt_tokens + rollout.max_new_tokens allow, and were cut to that."
        )
    if isinstance(lengths, DeclaredLengths) and lengths.frac_cut > _NOTABLE_FRAC:
        yield (
            f"lengths.mean: {lengths.frac_cut:.0%} of the draws are longer than the {longest:,} tokens that "
            "data.max_prompt_tokens + rollout.max_new_tokens allow, and are cut to that."
        )


def _cap_warning(foreseen: Foreseen, *, cap: int, longest: int) -> str:
    """A sample above the cap is a micro-batch over the cap, and nothing else is one."""
    num_samples = sum(step.num_rollouts for step in foreseen.steps if step.geometry is not None)
    num_alone = sum(step.num_over_cap for step in foreseen.scheduled)
    drawn = f"{num_alone / num_samples:.1%} of those drawn here" if num_alone else "none of those drawn here"
    text = (
        f"schedule.token_cap: a micro-batch may hold {cap:,} token{'' if cap == 1 else 's'}, the longest sample "
        f"{longest:,} (data.max_prompt_tokens + rollout.max_new_tokens); longer samples than the cap ({drawn}) run "
        "alone, above it."
    )
    if num_alone <= _NOTABLE_FRAC * num_samples:
        return text
    most = max(step.num_microbatches for step in foreseen.scheduled)
    return f"{text} A step takes up to {most:,} micro-batches per rank; raise the cap, or allow only shorter samples."


def _idle_warnings(balance: Balance, foreseen: Foreseen) -> Iterator[str]:
    idle, bound, pp = foreseen.mean_idle_frac, foreseen.mean_idle_bound_frac, foreseen.geometry.pp
    if bound > _NOTABLE_FRAC:
        field, advice = ("dp", "lower dp") if pp == 1 else ("pp", "lower pp or dp")
        yield (
            f"parallelism.{field}: ranks wait {bound:.1%} of the time under the best schedule that there can be; "
            f"{advice}, or make steps larger."
        )
    if idle - bound > _NOTABLE_FRAC:
        advice = "lower schedule.token_cap" if balance is Balance.COST else "take schedule.balance=cost"
        yield f"schedule.balance: ranks are predicted to wait {idle:.1%} of the time, {bound:.1%} would do; {advice}."
