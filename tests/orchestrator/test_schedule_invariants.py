"""The invariants of batch geometry, from an iteration's rollouts to its certified schedule, searched at length."""

from __future__ import annotations

from itertools import chain
from random import Random
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.batching.batch_policy import StepCut, cut_into_steps
from orchestrator.batching.batch_size import BatchPosition
from orchestrator.contracts.batch_spec import AdaptiveBatchSpec, BatchSpec, Remainder
from orchestrator.costs.cost_model import CostModel
from orchestrator.geometry import StepGeometry
from orchestrator.loss_weights import certify
from orchestrator.placing.makespan import step_makespan_bound
from orchestrator.placing.packing import first_fit_decreasing
from orchestrator.sample_shape import SampleShape
from orchestrator.schedule import build_dp_schedule
from orchestrator.step_figures import step_figures
from tests.orchestrator.factories import aggregations, batch_policies, cost_models, geometries, many_shapes
from trainer.contracts.certificate import LossAggregation
from trainer.contracts.schedule import DpSchedule, dp_schedule_problems

NUM_EXAMPLES = 2000


@settings(max_examples=NUM_EXAMPLES)
@given(
    samples=many_shapes(),
    batch=batch_policies(),
    is_last_iteration=st.booleans(),
    decided_size=st.none() | st.integers(1, 64),
    geometry=geometries(),
    cost_model=cost_models(),
    aggregation=aggregations(),
    seed=st.integers(0, 2**32),
)
def test_every_invariant_holds(
    samples: list[SampleShape],
    batch: BatchSpec,
    is_last_iteration: bool,
    decided_size: int | None,
    geometry: StepGeometry,
    cost_model: CostModel,
    aggregation: dict[str, Any],
    seed: int,
) -> None:
    cut = cut_into_steps(
        samples,
        batch,
        position=BatchPosition(),
        is_last_iteration=is_last_iteration,
        decided_size=decided_size if isinstance(batch, AdaptiveBatchSpec) else None,
    )
    check_cut(cut, samples, batch, is_last_iteration=is_last_iteration)
    kept = sorted(chain.from_iterable(cut.steps))
    number = {sample: k for k, sample in enumerate(kept)}
    trained = [samples[i] for i in kept]
    steps = [[number[i] for i in step] for step in cut.steps]

    schedule = build_dp_schedule(trained, steps, geometry=geometry, cost_model=cost_model, **aggregation)
    check_schedule(schedule, trained, geometry)
    assert schedule.global_batch_sizes == tuple(map(len, steps))
    assert [list(schedule.step_samples(k)) for k in range(len(steps))] == steps
    again = build_dp_schedule(trained, steps, geometry=geometry, cost_model=cost_model, **aggregation)
    assert schedule == again
    for k, step in enumerate(steps):
        members = [trained[i] for i in step]
        check_certificate(schedule, k, members, aggregation, Random(seed))
        check_figures(schedule, k, members, geometry, cost_model)


def check_cut(cut: StepCut, samples: list[SampleShape], batch: BatchSpec, *, is_last_iteration: bool) -> None:
    """Every sample has one place, a rollout is never split, and what is left over goes where the policy says."""
    parts = [*cut.steps, cut.dropped, cut.carried]
    assert sorted(chain.from_iterable(parts)) == list(range(len(samples)))
    rollouts = [{samples[i].rollout_id for i in part} for part in parts]
    assert sum(map(len, rollouts)) == len(set().union(*rollouts))
    assert not cut.dropped or batch.remainder is Remainder.DROP
    assert not cut.carried or (batch.remainder is Remainder.CARRY and not is_last_iteration)


def check_schedule(schedule: DpSchedule, samples: list[SampleShape], geometry: StepGeometry) -> None:
    lengths = [sample.num_tokens for sample in samples]
    problems = dp_schedule_problems(
        schedule,
        lengths=lengths,
        token_cap=geometry.micro_batch_token_cap,
        micro_batch_size=geometry.micro_batch_size,
        count_multiple=geometry.count_multiple,
    )
    assert problems == []
    assert schedule.dp_size == geometry.dp_size


def check_certificate(
    schedule: DpSchedule, k: int, members: list[SampleShape], aggregation: dict[str, Any], random: Random
) -> None:
    """The weights sum to exactly one, and are the same for any order of the samples, which no layout can change."""
    certificate = schedule.certificates[k]
    assert certificate.problem() is None
    num_loss_tokens = sum(sample.num_loss_tokens for sample in members)
    if aggregation["loss_aggregation"] is not LossAggregation.CONSTANT:
        assert certificate.total == (1 if num_loss_tokens else 0)
    else:
        counted = sum(sample.num_loss_tokens > 0 for sample in members)
        assert certificate.total * max(1, counted) * aggregation["constant_tokens"] == num_loss_tokens
    shuffled = certify(random.sample(members, len(members)), **aggregation)
    assert shuffled.sha256 == certificate.sha256


def check_figures(
    schedule: DpSchedule, k: int, members: list[SampleShape], geometry: StepGeometry, cost_model: CostModel
) -> None:
    lengths, step = [sample.num_tokens for sample in members], schedule.step(k)
    figures = step_figures(step, lengths=lengths, geometry=geometry, cost_model=cost_model)
    assert 0 <= figures.idle_bound_frac <= figures.predicted_idle_frac < 1
    # The figures clip their bound at what was reached; here it is not clipped.
    bound = step_makespan_bound(
        np.array(figures.predicted_cost),
        np.array(figures.sample_cost),
        geometry,
        overhead=cost_model.per_context_parallel_rank(geometry.cp).overhead,
    )
    assert bound <= figures.makespan * (1 + 1e-9)
    assert figures.num_dummies == step.num_dummies
    if (cap := geometry.micro_batch_token_cap) is not None:
        assert figures.num_over_cap == sum(length > cap for length in lengths)
        if geometry.packer == "first_fit_decreasing":
            num_real = sum(map(bool, chain.from_iterable(step.micro_batches)))
            assert num_real <= allowed_micro_batches(len(first_fit_decreasing(lengths, cap)), geometry)


def allowed_micro_batches(num_packed: int, geometry: StepGeometry) -> int:
    multiple = geometry.dp_size * geometry.count_multiple
    return -(-num_packed // multiple) * multiple
