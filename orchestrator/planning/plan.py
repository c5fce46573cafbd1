"""The geometry that a run would have: sizes and learning rate of every step, and some steps cut into micro-batches.

lengths ──► sizes of all steps ──► LR of all steps ──► geometry of some ──► maxima, remarks
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from orchestrator.contracts.plan import (
    MAX_PLANNED_STEPS,
    PlanMaxima,
    PlannedGeometry,
    PlannedStep,
    PlanRequest,
    RunPlan,
)
from orchestrator.contracts.rollout_spec import ZeroVariancePolicy
from orchestrator.contracts.run_spec import RunSpec
from orchestrator.geometry import StepGeometry, geometry_of
from orchestrator.planning.effort import MAX_EFFORT, scheduling_effort
from orchestrator.planning.foreseen import Foreseen
from orchestrator.planning.model_shape import read_model_shape
from orchestrator.planning.planned_geometry import MAX_RANKS, DrySchedule, spread
from orchestrator.planning.remarks import assumptions, warnings
from orchestrator.planning.sample_lengths import prepare_lengths
from orchestrator.planning.step_sizes import KeptRollouts, StepSize, foresee_sizes
from trainer.contracts.lr_plan import lr_at, lr_increment
from trainer.contracts.optimizer_spec import OptimizerSpec
from trainer.contracts.text_model import FieldError

MAX_ROLLOUTS_OF_AN_ITERATION = 1_000_000
"""More would take seconds to plan, and hundreds of megabytes."""


def plan_run(request: PlanRequest, *, run_lengths: Sequence[int] | None = None) -> RunPlan:
    """Foresee a run. The same request gives the same plan.

    run_lengths: tokens of the samples of the run that `request.lengths` names, where it names one.

    Raises:
        FieldError: too many rollouts to plan, or no run_lengths. Fields are paths within the request.
    """
    spec = request.spec
    _check_size(spec)
    lengths = prepare_lengths(request.lengths, longest=spec.max_sample_tokens, run_lengths=run_lengths)
    kept = KeptRollouts(
        iterations=spec.iterations,
        num_groups=spec.data.rollout_batch_size,
        group_size=spec.rollout.group_size,
        kept_frac=request.kept_frac,
    )
    sizes = foresee_sizes(spec.batch, kept, tokens_per_rollout=lengths.mean, max_steps=MAX_PLANNED_STEPS)
    model = read_model_shape(spec.model)
    geometry = geometry_of(spec.schedule, spec.parallelism)
    dry = DrySchedule(geometry=geometry, cost_model=model.cost_model, lengths=lengths, seed=spec.seed)
    geometries = _geometries(dry, sizes.steps, request.max_scheduled_steps)
    steps = tuple(_planned_steps(sizes.steps, spec.optimizer, lengths.mean, geometries))
    return _tell(request, Foreseen(geometry=geometry, lengths=lengths, model=model, sizes=sizes, steps=steps))


def _tell(request: PlanRequest, foreseen: Foreseen) -> RunPlan:
    spec, sizes = request.spec, foreseen.sizes
    return RunPlan(
        steps=foreseen.steps,
        num_steps=sizes.num_steps,
        num_samples=sizes.num_rollouts,
        num_tokens_expected=round(sizes.num_rollouts * foreseen.lengths.mean),
        kept_frac=_kept_frac(request),
        num_dropped=sizes.num_dropped,
        dp=foreseen.geometry.dp_size,
        lr_unit=spec.optimizer.lr_schedule.unit,
        maxima=_maxima(foreseen, max_sample_tokens=spec.max_sample_tokens, tp=spec.parallelism.tp),
        mean_predicted_idle_frac=foreseen.mean_idle_frac,
        mean_idle_bound_frac=foreseen.mean_idle_bound_frac,
        assumptions=tuple(assumptions(request, foreseen)),
        warnings=tuple(warnings(request, foreseen)),
    )


def _kept_frac(request: PlanRequest) -> float | None:
    leaves_all_in = request.spec.filter.zero_variance is ZeroVariancePolicy.INCLUDE
    return None if leaves_all_in and request.kept_frac == 1.0 else request.kept_frac


def _check_size(spec: RunSpec) -> None:
    if spec.rollouts_per_iteration > MAX_ROLLOUTS_OF_AN_ITERATION:
        raise FieldError(
            f"An iteration has {spec.rollouts_per_iteration:,} rollouts; at most {MAX_ROLLOUTS_OF_AN_ITERATION:,} can "
            "be planned. Lower data.rollout_batch_size or rollout.group_size.",
            "spec.data.rollout_batch_size",
            "spec.rollout.group_size",
        )
    if (num_ranks := spec.parallelism.dp * spec.parallelism.pp) > MAX_RANKS:
        raise FieldError(
            f"parallelism.dp × parallelism.pp = {num_ranks:,} ranks; at most {MAX_RANKS:,} can be planned.",
            "spec.parallelism.dp",
            "spec.parallelism.pp",
        )


def _geometries(dry: DrySchedule, steps: Sequence[StepSize], most: int) -> dict[int, PlannedGeometry]:
    """The geometry of some steps, spread over the run, by their numbers."""

    def effort(step: int) -> float:
        return scheduling_effort(dry.geometry, num_samples=steps[step].num_rollouts, mean_tokens=dry.lengths.mean)

    chosen = spread(len(steps), most)
    while len(chosen) > 1 and sum(map(effort, chosen)) > MAX_EFFORT:
        chosen = spread(len(steps), len(chosen) // 2)
    return {step: dry.step(step, num_samples=steps[step].num_rollouts) for step in chosen if effort(step) <= MAX_EFFORT}


def _planned_steps(
    steps: Sequence[StepSize], optimizer: OptimizerSpec, mean_tokens: float, geometries: Mapping[int, PlannedGeometry]
) -> Iterator[PlannedStep]:
    position = num_samples = 0
    for step, size in enumerate(steps):
        # Rounded from the whole, not step by step: the error stays below one token however long the run is.
        num_tokens = round((num_samples + size.num_rollouts) * mean_tokens) - round(num_samples * mean_tokens)
        num_samples += size.num_rollouts
        after = position + lr_increment(
            optimizer.lr_schedule.unit, step_global_batch_size=size.num_rollouts, step_num_tokens=num_tokens
        )
        yield PlannedStep(
            step=step,
            iteration=size.iteration,
            num_rollouts=size.num_rollouts,
            global_batch_size=size.num_rollouts,
            lr=lr_at(optimizer, position),
            lr_position_before=position,
            lr_position_after=after,
            geometry=geometries.get(step),
        )
        position = after


def _maxima(foreseen: Foreseen, *, max_sample_tokens: int, tp: int) -> PlanMaxima:
    scheduled, geometry = foreseen.scheduled, foreseen.geometry
    tokens = max((step.max_micro_batch_tokens for step in scheduled), default=max_sample_tokens)
    return PlanMaxima(
        max_sample_tokens=max_sample_tokens,
        max_micro_batch_tokens=tokens,
        max_num_microbatches=max((step.num_microbatches for step in scheduled), default=1),
        max_global_batch_size=max((step.num_rollouts for step in foreseen.sizes.steps), default=1),
        max_micro_batch_logits_bytes=_logits_bytes(tokens, foreseen.model.vocab_size, geometry, tp),
    )


def _logits_bytes(micro_batch_tokens: int, vocab_size: int | None, geometry: StepGeometry, tp: int) -> int | None:
    """The part of a micro-batch's logits that one rank holds, in fp32."""
    if vocab_size is None:
        return None
    return -(-micro_batch_tokens // geometry.cp) * -(-vocab_size // tp) * 4
