from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import chain
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.contracts.schedule_spec import Balance, Barrier, Packer
from orchestrator.costs.cost_model import CostModel
from orchestrator.geometry import StepGeometry
from orchestrator.placing.packing import first_fit, first_fit_decreasing
from orchestrator.sample_shape import SampleShape
from orchestrator.schedule import build_dp_schedule
from orchestrator.step_figures import step_figures
from tests.orchestrator.factories import (
    COST_MODEL,
    aggregations,
    case,
    cost_models,
    geometries,
    sample_shapes,
    scheduled,
    shapes_of_an_iteration,
    step_geometry,
)
from trainer.contracts.certificate import LossAggregation
from trainer.contracts.schedule import DpSchedule


def one_step(lengths: Sequence[int], **changes: Any) -> DpSchedule:
    return scheduled(lengths, step_geometry(**changes))


def real_micro_batches(schedule: DpSchedule) -> int:
    return sum(bool(micro_batch) for rank in schedule.micro_batch_indices for micro_batch in rank)


def steps_of(samples: Sequence[SampleShape], rollouts_per_step: int) -> tuple[tuple[int, ...], ...]:
    rollouts = list(dict.fromkeys(sample.rollout_id for sample in samples))
    step_of = {rollout: k // rollouts_per_step for k, rollout in enumerate(rollouts)}
    steps: dict[int, list[int]] = {}
    for i, sample in enumerate(samples):
        steps.setdefault(step_of[sample.rollout_id], []).append(i)
    return tuple(map(tuple, steps.values()))


@pytest.mark.parametrize("pp", [1, 2])
def test_a_rank_gets_no_empty_micro_batch_by_accident(pp: int) -> None:
    light_rank = case("schedule", "light-rank")
    given_, expect = light_rank["given"], light_rank["expect"]
    schedule = one_step(given_["lengths"], dp_size=given_["dp"], token_cap=given_["token_cap"], pp=pp)
    assert real_micro_batches(schedule) == expect["micro_batches"]
    assert schedule.num_microbatches == (expect["per_rank"],)
    assert schedule.global_batch_sizes == (expect["global_batch_size"],)
    assert len(set(chain.from_iterable(schedule.partitions))) == expect["samples_once"]


@pytest.mark.parametrize("pp", [1, 2])
def test_dummies_fill_up_what_splitting_cannot_reach(pp: int) -> None:
    unreachable = case("schedule", "alignment-unreachable")
    given_, expect = unreachable["given"], unreachable["expect"]
    schedule = one_step(given_["lengths"], dp_size=given_["dp"], token_cap=given_["token_cap"], pp=pp)
    assert real_micro_batches(schedule) == expect["real_micro_batches"]
    assert schedule.step(0).num_dummies == expect["dummy_micro_batches"]
    assert schedule.num_microbatches == (expect["per_rank"],)
    assert schedule.global_batch_sizes == (expect["global_batch_size"],)


def test_counts_are_a_multiple_of_the_pipeline_group() -> None:
    vpp_group = case("schedule", "vpp-group")
    given_, expect = vpp_group["given"], vpp_group["expect"]
    schedule = one_step(
        given_["lengths"],
        dp_size=given_["dp"],
        token_cap=given_["token_cap"],
        pp=given_["mb_group"],
        vpp=given_["vpp"],
    )
    assert real_micro_batches(schedule) == expect["micro_batches"]
    assert schedule.num_microbatches == (expect["per_rank"],)


def test_a_sample_above_the_cap_lands_alone_and_is_counted() -> None:
    oversized = case("schedule", "oversized-sample")
    given_, expect = oversized["given"], oversized["expect"]
    schedule = one_step(given_["lengths"], dp_size=given_["dp"], token_cap=given_["token_cap"])
    assert real_micro_batches(schedule) == expect["micro_batches"]
    figures = step_figures(
        schedule.step(0),
        lengths=given_["lengths"],
        geometry=step_geometry(dp_size=given_["dp"], token_cap=given_["token_cap"]),
        cost_model=COST_MODEL,
    )
    assert figures.num_over_cap == expect["over_cap_micro_batches"]


def test_packing_is_as_good_as_first_fit_decreasing() -> None:
    quality = case("schedule", "packer-quality")
    schedule = one_step(quality["given"]["lengths"], token_cap=quality["given"]["token_cap"])
    assert real_micro_batches(schedule) == quality["expect"]["micro_batches"]


@given(shapes_of_an_iteration(), geometries(), cost_models())
def test_there_are_no_more_micro_batches_than_the_packer_needs(
    samples: list[SampleShape], geometry: StepGeometry, cost_model: CostModel
) -> None:
    lengths = [sample.num_tokens for sample in samples]
    schedule = scheduled(lengths, geometry, cost_model)
    multiple = geometry.dp_size * geometry.count_multiple
    sizes = [1] * len(lengths) if geometry.micro_batch_size else lengths
    pack = first_fit_decreasing if geometry.packer is Packer.FIRST_FIT_DECREASING else first_fit
    aligned = -(-len(pack(sizes, geometry.cap)) // multiple) * multiple
    assert real_micro_batches(schedule) <= aligned
    if not geometry.skips_dummies:
        assert schedule.num_microbatches[0] * geometry.dp_size == aligned
        # Only samples that cannot be split any more leave a dummy.
        assert real_micro_batches(schedule) == min(aligned, len(samples))


@given(shapes_of_an_iteration(), geometries(), aggregations(), st.integers(0, 2**32))
def test_the_certificate_knows_nothing_of_the_layout(
    samples: list[SampleShape], geometry: StepGeometry, aggregation: dict[str, Any], seed: int
) -> None:
    shuffled = Random(seed).sample(samples, len(samples))
    everything = [range(len(samples))]
    one = build_dp_schedule(samples, everything, geometry=geometry, cost_model=COST_MODEL, **aggregation)
    plain = step_geometry(dp_size=3, token_cap=77, balance=Balance.NONE)
    other = build_dp_schedule(shuffled, everything, geometry=plain, cost_model=COST_MODEL, **aggregation)
    (certificate,) = one.certificates
    assert certificate.sha256 == other.certificates[0].sha256
    if certificate.loss_aggregation.sums_to_one and any(sample.num_loss_tokens for sample in samples):
        assert certificate.total == 1


@given(shapes_of_an_iteration(), geometries(), aggregations())
def test_the_same_input_gives_the_same_schedule(
    samples: list[SampleShape], geometry: StepGeometry, aggregation: dict[str, Any]
) -> None:
    step = list(range(len(samples)))
    schedules = [
        build_dp_schedule(samples, [order], geometry=geometry, cost_model=COST_MODEL, **aggregation)
        for order in (step, step, step[::-1])
    ]
    assert schedules[0] == schedules[1] == schedules[2]


@pytest.mark.parametrize("balance", [Balance.COST, Balance.TOKENS])
@pytest.mark.parametrize("pp", [1, 2])
def test_ranks_are_balanced_to_the_bound_where_samples_are_many(balance: Balance, pp: int) -> None:
    random = Random(5)
    lengths = [min(16_384, max(1, int(random.lognormvariate(7.5, 0.8)))) for _ in range(1000)]
    step = one_step(lengths, balance=balance, dp_size=8, token_cap=16_384, pp=pp).step(0)
    measure = COST_MODEL.cost if balance is Balance.COST else float
    loads = [sum(measure(lengths[i]) for micro_batch in rank for i in micro_batch) for rank in step.micro_batches]
    mean = sum(loads) / len(loads)
    # Of 159 full micro-batches one rank has 19, which hold no more tokens than that: the others must hold the rest.
    fullest = (sum(lengths) - 19 * 16_384) / 7 if (balance, pp) == (Balance.TOKENS, 1) else 0
    assert max(loads) <= max(1.002 * mean, fullest + 1)


@pytest.mark.parametrize(("num_samples", "dp_size"), [(10, 8), (100, 8), (300, 8), (1000, 64)])
def test_where_dummies_are_skipped_there_are_no_more_micro_batches_than_packing_needs(
    num_samples: int, dp_size: int
) -> None:
    random = Random(num_samples)
    lengths = [min(16_384, max(1, int(random.lognormvariate(7.5, 0.8)))) for _ in range(num_samples)]
    step = one_step(lengths, dp_size=dp_size, token_cap=16_384).step(0)
    num_packed = len(first_fit_decreasing(lengths, 16_384))
    # A rank without any would wait for the others; it is not what packing is for.
    assert sum(map(bool, chain.from_iterable(step.micro_batches))) == max(num_packed, dp_size)


def test_more_micro_batches_than_packing_needs_are_made_where_ranks_would_wait() -> None:
    step = one_step([4] * 6, dp_size=2, token_cap=8).step(0)
    assert len(first_fit_decreasing([4] * 6, 8)) == 3
    assert [sum(map(len, rank)) for rank in step.micro_batches] == [3, 3]


def test_equal_samples_fill_every_fixed_step_to_its_size() -> None:
    samples = sample_shapes([7] * 24)
    schedule = build_dp_schedule(
        samples,
        steps_of(samples, 8),
        geometry=step_geometry(dp_size=4, token_cap=14),
        cost_model=COST_MODEL,
        loss_aggregation=LossAggregation.SAMPLE_MEAN,
    )
    assert schedule.global_batch_sizes == (8, 8, 8)
    assert schedule.num_microbatches == (1, 1, 1)
    assert [len(partition) for partition in schedule.partitions] == [6, 6, 6, 6]


def test_a_rank_with_a_long_sample_gets_fewer_micro_batches_where_dummies_are_free() -> None:
    lengths = [100] + [10] * 8
    skipping = one_step(lengths, dp_size=2, balance=Balance.TOKENS).step(0)
    assert sorted(sum(bool(micro_batch) for micro_batch in rank) for rank in skipping.micro_batches) == [1, 8]
    running = one_step(lengths, dp_size=2, balance=Balance.TOKENS, pp=2).step(0)
    assert running.num_microbatches == 5


def test_more_ranks_than_samples_leave_ranks_empty() -> None:
    schedule = one_step([3, 4], dp_size=4)
    assert schedule.num_microbatches == (1,)
    assert sorted(map(len, schedule.partitions)) == [0, 0, 1, 1]


def test_small_micro_batches_stand_at_the_ends_of_a_pipeline() -> None:
    step = one_step([9, 8, 7, 6, 5], pp=2).step(0)
    sizes = [sum([9, 8, 7, 6, 5][i] for i in micro_batch) for micro_batch in step.micro_batches[0]]
    peak = sizes.index(max(sizes))
    assert sizes[: peak + 1] == sorted(sizes[: peak + 1])
    assert sizes[peak:] == sorted(sizes[peak:], reverse=True)


@pytest.mark.parametrize("barrier", Barrier)
@pytest.mark.parametrize(("pp", "vpp", "per_rank"), [(1, 1, 1), (2, 1, 1), (4, 2, 4)])
def test_one_sample_on_many_ranks_leaves_dummies_to_all_others(
    barrier: Barrier, pp: int, vpp: int, per_rank: int
) -> None:
    step = one_step([5], dp_size=64, barrier=barrier, pp=pp, vpp=vpp).step(0)
    assert (step.dp_size, step.global_batch_size, step.num_microbatches) == (64, 1, per_rank)
    assert step.num_dummies == 64 * per_rank - 1


def test_a_pipelines_group_is_filled_where_there_are_fewer_samples_than_ranks() -> None:
    step = one_step([3, 3, 3], dp_size=4, pp=3, vpp=2).step(0)
    assert step.num_microbatches == 3
    assert step.num_dummies == 9


@pytest.mark.parametrize("loss_aggregation", LossAggregation)
def test_a_step_of_masked_samples_is_scheduled_and_weighs_nothing(loss_aggregation: LossAggregation) -> None:
    schedule = build_dp_schedule(
        sample_shapes([4, 4, 4], num_loss_tokens=[0, 0, 0]),
        [range(3)],
        geometry=step_geometry(dp_size=2),
        cost_model=COST_MODEL,
        loss_aggregation=loss_aggregation,
        constant_tokens=8,
    )
    assert schedule.global_batch_sizes == (3,)
    assert schedule.certificates[0].total == 0


def test_a_rollout_of_more_samples_than_a_micro_batch_holds_stays_in_its_step() -> None:
    samples = sample_shapes([9] * 12, rollouts=[0] * 9 + [1] * 3)
    schedule = build_dp_schedule(
        samples,
        [range(9), range(9, 12)],
        geometry=step_geometry(dp_size=2),
        cost_model=COST_MODEL,
        loss_aggregation=LossAggregation.ROLLOUT_MEAN,
    )
    assert schedule.num_microbatches == (5, 2)
    assert schedule.step_samples(0) == tuple(range(9))
    assert set(schedule.certificates[0].weights) == {Fraction(1, 9)}


@pytest.mark.parametrize("balance", Balance)
def test_a_fixed_number_of_samples_fills_every_micro_batch(balance: Balance) -> None:
    step = one_step([1, 900, 5, 5, 70, 2, 3, 30], dp_size=2, micro_batch_size=2, balance=balance).step(0)
    # Where dummies are free, the rank of the long sample has fewer of them.
    assert [len(own) for rank in step.micro_batches for own in rank if own] == [2, 2, 2, 2]


def test_samples_that_are_counted_are_balanced_too() -> None:
    lengths = [100, 90, 80, 70, 60, 50, 40, 30]
    step = one_step(lengths, dp_size=2, micro_batch_size=2, balance=Balance.TOKENS).step(0)
    assert [sum(lengths[i] for micro_batch in rank for i in micro_batch) for rank in step.micro_batches] == [260, 260]


def test_arrival_order_keeps_neighbours_together() -> None:
    lengths = [4, 4, 2, 9, 1, 5]
    arrival = one_step(lengths, packer=Packer.FIRST_FIT).step(0)
    assert set(arrival.micro_batches[0]) == {(0, 1, 2), (3, 4), (5,)}


def test_context_parallel_ranks_share_a_micro_batch() -> None:
    geometry = step_geometry(token_cap=10, cp=4)
    step = scheduled([25, 15], geometry).step(0)
    assert step.micro_batches == (((0, 1),),)
    figures = step_figures(step, lengths=[25, 15], geometry=geometry, cost_model=COST_MODEL)
    assert figures.sample_cost == (COST_MODEL.cost(25) / 4, COST_MODEL.cost(15) / 4)
    assert figures.num_over_cap == 0


@pytest.mark.parametrize("pp", [1, 2])
def test_the_kth_micro_batches_of_all_ranks_are_alike_where_they_meet(pp: int) -> None:
    random = Random(5)
    lengths = [min(1000, max(1, int(random.lognormvariate(5, 0.8)))) for _ in range(400)]
    idle = []
    for barrier, balance in ((Barrier.MICRO_BATCH, Balance.COST), (Barrier.STEP, Balance.COST)):
        step = one_step(lengths, dp_size=8, token_cap=1000, pp=pp, barrier=barrier, balance=balance).step(0)
        met = step_geometry(dp_size=8, token_cap=1000, barrier=Barrier.MICRO_BATCH)
        idle.append(step_figures(step, lengths=lengths, geometry=met, cost_model=COST_MODEL).predicted_idle_frac)
    assert idle[0] < 0.07
    assert idle[0] < idle[1]


def test_an_overhead_makes_many_small_micro_batches_dear() -> None:
    lengths = [10] + [1] * 20
    dear = CostModel(linear=1.0, quadratic=0.0, overhead=100.0)
    geometry = step_geometry(dp_size=2, token_cap=10)
    step = scheduled(lengths, geometry, dear).step(0)
    figures = step_figures(step, lengths=lengths, geometry=geometry, cost_model=dear)
    assert figures.makespan == max(map(sum, figures.predicted_cost))
    assert sum(map(sum, figures.predicted_cost)) == 30 + 100 * sum(map(bool, chain.from_iterable(step.micro_batches)))


def test_an_iteration_without_steps_has_an_empty_schedule_for_every_rank() -> None:
    schedule = build_dp_schedule(
        [],
        [],
        geometry=step_geometry(dp_size=2),
        cost_model=COST_MODEL,
        loss_aggregation=LossAggregation.TOKEN_MEAN,
    )
    assert schedule.partitions == ((), ())
    assert schedule.num_steps == 0


def test_impossible_steps_are_refused() -> None:
    arguments: dict[str, Any] = {
        "geometry": step_geometry(),
        "cost_model": COST_MODEL,
        "loss_aggregation": LossAggregation.TOKEN_MEAN,
    }
    samples = sample_shapes([1, 2])
    with pytest.raises(ValueError, match="step 1 has no samples"):
        build_dp_schedule(samples, [[0], []], **arguments)
    with pytest.raises(ValueError, match="twice"):
        build_dp_schedule(samples, [[0, 1], [1]], **arguments)
