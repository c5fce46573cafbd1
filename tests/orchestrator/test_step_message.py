from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import pytest

from orchestrator.contracts.batch_spec import AdaptiveMode
from orchestrator.contracts.messages import BatchDecision, StepMessage
from orchestrator.contracts.rollout_spec import ZeroVariancePolicy
from orchestrator.contracts.schedule_spec import Barrier, Packer
from orchestrator.geometry import StepGeometry
from orchestrator.rollouts.rollout_counts import RolloutCounts
from orchestrator.step_message import metric_message, step_message
from tests.orchestrator.run_factories import AT, small_step, trained_step
from trainer.contracts.metric import Metric, Reduction, last, mean


def test_a_message_comes_back_from_json_unchanged() -> None:
    message = small_step(3)
    assert StepMessage.model_validate_json(message.model_dump_json()) == message


def test_counts_agree_with_the_schedule() -> None:
    message = step_message(
        trained_step(num_samples=5),
        started_at=AT,
        seconds=2.0,
        metrics={},
        counts=RolloutCounts(num_generated=9, num_filtered=3, num_dropped=1),
    )
    samples = message.schedule.samples
    assert message.global_batch_size == samples.size == 5
    assert message.num_tokens == sum(samples.num_tokens)
    assert message.num_loss_tokens == sum(samples.num_loss_tokens)
    assert (message.num_generated, message.num_filtered, message.num_dropped) == (9, 3, 1)
    assert (message.ended_at - message.started_at).total_seconds() == 2.0
    assert sum(map(Fraction, samples.weight)) == 1


def test_carried_counts_and_the_decision_are_told() -> None:
    decision = BatchDecision(
        mode=AdaptiveMode.ADVISE, noise_scale=9.5, proposed_size=8, size_before=None, size_after=None, reason="why"
    )
    counts = RolloutCounts(num_generated=9, num_carried_in=2, num_carried_out=3)
    message = step_message(trained_step(), started_at=AT, seconds=1.0, metrics={}, counts=counts, decision=decision)
    assert (message.num_carried_in, message.num_carried_out, message.batch_decision) == (2, 3, decision)


def test_ages_are_told_only_where_somebody_waited() -> None:
    trained = trained_step(num_samples=3)
    assert step_message(trained, started_at=AT, seconds=1.0, metrics={}).schedule.samples.age == ()
    first, *others = trained.items
    waited = replace(trained, items=(replace(first, age=2), *others))
    assert step_message(waited, started_at=AT, seconds=1.0, metrics={}).schedule.samples.age == (2, 0, 0)


def test_samples_of_one_rollout_count_as_one_rollout() -> None:
    trained = trained_step(num_samples=5)
    of_one = [replace(item, shape=replace(item.shape, rollout_id="r")) for item in trained.items[:3]]
    message = step_message(
        replace(trained, items=(*of_one, *trained.items[3:])), started_at=AT, seconds=1.0, metrics={}
    )
    assert (message.global_batch_size, message.num_rollouts) == (5, 3)
    assert message.schedule.samples.rollout_id[:3] == ("r", "r", "r")


def test_the_schedule_tells_the_geometry_that_it_was_made_for() -> None:
    trained = trained_step()
    geometry = StepGeometry(
        dp_size=2, micro_batch_size=3, packer=Packer.FIRST_FIT, barrier=Barrier.MICRO_BATCH, cp=2, pp=4, vpp=2
    )
    trained = replace(trained, geometry=geometry, zero_variance=ZeroVariancePolicy.INCLUDE)
    schedule = step_message(trained, started_at=AT, seconds=1.0, metrics={}).schedule
    assert (schedule.token_cap, schedule.micro_batch_size) == (None, 3)
    assert (schedule.packer, schedule.barrier) == (Packer.FIRST_FIT, Barrier.MICRO_BATCH)
    assert (schedule.cp, schedule.pp, schedule.vpp) == (2, 4, 2)
    assert schedule.zero_variance is ZeroVariancePolicy.INCLUDE
    assert not schedule.skips_dummies


def test_positions_computed_are_told_by_micro_batch() -> None:
    trained = trained_step()
    schedule = step_message(trained, started_at=AT, seconds=1.0, metrics={}).schedule
    assert schedule.num_positions == trained.record.num_positions
    assert sum(map(sum, schedule.num_positions)) == trained.num_tokens


def test_rates_weigh_by_time_so_that_their_mean_is_the_rate_of_the_whole() -> None:
    fast = step_message(trained_step(), started_at=AT, seconds=1.0, metrics={}).metrics["perf/tokens_per_s"]
    slow = step_message(trained_step(), started_at=AT, seconds=3.0, metrics={}).metrics["perf/tokens_per_s"]
    assert isinstance(fast.value, float)
    assert isinstance(slow.value, float)
    num_tokens = trained_step().num_tokens
    assert fast.value * fast.weight + slow.value * slow.weight == pytest.approx(2 * num_tokens)


def test_the_idle_share_is_that_of_the_measured_times() -> None:
    trained = trained_step()
    shape = [len(rank) for rank in trained.schedule.micro_batches]
    measured = tuple((3.0,) * count if rank == 0 else (1.0,) * count for rank, count in enumerate(shape))
    trained = replace(trained, record=replace(trained.record, micro_batch_s=measured))
    message = step_message(trained, started_at=AT, seconds=1.0, metrics={})
    assert message.measured_idle_frac == pytest.approx(1 - 4 / 6)
    assert message.metrics["perf/idle_frac"].value == pytest.approx(message.measured_idle_frac)


def test_the_idle_share_of_a_pipeline_holds_its_bubble() -> None:
    trained = trained_step()
    shape = [len(rank) for rank in trained.schedule.micro_batches]
    measured = tuple((1.0,) * count for count in shape)
    geometry = replace(trained.geometry, pp=2)
    trained = replace(trained, record=replace(trained.record, micro_batch_s=measured), geometry=geometry)
    message = step_message(trained, started_at=AT, seconds=1.0, metrics={})
    # Each of two stages waits once for a micro-batch's pass through the other: n of n + 1 places are filled.
    assert message.measured_idle_frac == pytest.approx(1 - shape[0] / (shape[0] + 1))


def test_metrics_given_with_the_step_join_those_of_the_trainer() -> None:
    message = step_message(trained_step(), started_at=AT, seconds=1.0, metrics={"reward/mean": mean(3, 4)})
    assert message.metrics["reward/mean"].value == 0.75
    assert {"train/loss", "perf/step_s", "perf/train_s"} <= message.metrics.keys()


@pytest.mark.parametrize(
    ("metric", "value", "weight"),
    [
        (mean(1.0, 4), 0.25, 4),
        (mean(0.0, 0), None, 0),
        (mean(math.nan, 1), "NaN", 1),
        (last(math.inf), "Infinity", 1),
        (Metric(reduction=Reduction.MIN, total=-math.inf), "-Infinity", 1),
    ],
)
def test_every_value_of_a_metric_has_a_place_in_json(metric: Metric, value: object, weight: float) -> None:
    message = metric_message(metric)
    assert (message.value, message.weight, message.reduction) == (value, weight, metric.reduction)
