from __future__ import annotations

from itertools import chain, cycle, repeat
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from orchestrator.contracts.batch_spec import FixedBatchSpec, Remainder
from orchestrator.contracts.messages import Phase
from orchestrator.contracts.rollout_spec import FilterSpec, ZeroVariancePolicy
from orchestrator.loop import NothingToTrainError, Outcome
from tests.orchestrator.batch_factories import adaptive, ramp, token_budget
from tests.orchestrator.factories import case
from tests.orchestrator.fakes import (
    EOS,
    RIGHT,
    WRONG,
)
from tests.orchestrator.loop_run import (
    GROUP_SIZE,
    NUM_PROMPTS,
    Run,
    all_right,
    all_wrong,
    mixed,
    mixed_in_first,
    warm_start_spec,
)
from trainer.contracts.loss_spec import ClippedLossSpec, SftLossSpec
from trainer.contracts.policy_trainer import GradientNoise, StepStatus
from trainer.contracts.schedule import step_schedule_problems


@pytest.fixture(autouse=True)
def _own_checkpoints(tmp_path: Path) -> None:
    Run.root = tmp_path


def test_an_iteration_is_one_step_as_large_as_what_the_filter_left() -> None:
    run = Run([mixed_in_first(3), mixed_in_first(5)])
    assert run.run() is Outcome.SUCCEEDED
    assert run.column("global_batch_size") == [12, 20]
    assert run.column("num_prompts") == [3, 5]
    assert run.column("num_generated") == [32, 32]
    assert run.column("num_filtered") == [20, 12]
    assert run.column("step") == [0, 1]
    assert run.column("policy_version") == [0, 1]


@pytest.mark.parametrize("policy", list(ZeroVariancePolicy))
def test_filtered_groups_enter_no_denominator(policy: ZeroVariancePolicy) -> None:
    filtered = case("loss", "filtered-groups-denominator")
    given, expected = filtered["given"], filtered["expect"][policy]["global_batch_size"]
    assert (given["groups"], given["group_size"]) == (NUM_PROMPTS, GROUP_SIZE)
    answers = mixed_in_first(given["groups"] - given["zero_variance_groups"])
    run = Run([answers], iterations=1, filter_spec=FilterSpec(zero_variance=policy))
    run.run()
    [(samples, schedule)] = run.trainer.calls
    assert run.column("global_batch_size") == [expected] == list(schedule.global_batch_sizes)
    assert schedule.certificates[0].total == 1
    assert sum(sample.loss_scale * sample.num_loss_tokens for sample in samples) == pytest.approx(expected)


def test_every_step_holds_its_invariants() -> None:
    run = Run(cycle([mixed, mixed_in_first(3)]), iterations=4, warm_start=warm_start_spec())
    run.run()
    for message, (samples, schedule) in zip(run.reported, run.trainer.calls, strict=True):
        lengths = [sample.num_tokens for sample in samples]
        assert lengths == list(message.schedule.samples.num_tokens)
        assert step_schedule_problems(schedule.step(0), lengths=lengths, token_cap=64) == []
        assert message.ended_at >= message.started_at


def test_samples_carry_prompt_and_response_with_the_engines_log_probs() -> None:
    run = Run([mixed], iterations=1)
    run.run()
    [(samples, _)] = run.trainer.calls
    right = samples[0]
    assert right.token_ids.tolist() == [1, 2, *RIGHT]
    assert right.loss_mask.tolist() == [False, False, True, True]
    assert right.old_log_probs is not None
    assert right.old_log_probs.tolist() == [0.0, 0.0, -0.5, -0.5]
    assert right.advantages is not None
    np.testing.assert_allclose(right.advantages, [0, 0, 0.75, 0.75])


def test_a_fixed_batch_cuts_an_iteration_into_steps_and_only_the_first_tells_of_the_rollouts() -> None:
    batch = FixedBatchSpec(type="fixed", global_batch_size=12)
    run = Run([mixed], iterations=1, batch=batch)
    run.run()
    assert run.column("global_batch_size") == [12, 12, 8]
    assert run.column("num_generated") == [32, 0, 0]
    assert ["reward/mean" in message.metrics for message in run.reported] == [True, False, False]
    assert ["perf/push_s" in message.metrics for message in run.reported] == [False, False, True]
    assert run.engine.versions == [0, 3]


def test_dropped_rollouts_are_counted() -> None:
    batch = FixedBatchSpec(type="fixed", global_batch_size=12, remainder=Remainder.DROP)
    run = Run([mixed], iterations=1, batch=batch)
    run.run()
    assert run.column("global_batch_size") == [12, 12]
    assert run.column("num_dropped") == [8, 0]


def test_carried_rollouts_come_first_in_the_next_iteration_and_tell_how_long_they_waited() -> None:
    batch = FixedBatchSpec(type="fixed", global_batch_size=12, remainder=Remainder.CARRY)
    run = Run([mixed, mixed, mixed], iterations=3, batch=batch)
    run.run()
    assert run.column("global_batch_size") == [12, 12, 12, 12, 12, 12, 12, 12]
    assert run.column("iteration") == [0, 0, 1, 1, 1, 2, 2, 2]
    assert run.column("num_carried_in") == [0, 0, 8, 0, 0, 4, 0, 0]
    assert run.column("num_carried_out") == [8, 0, 4, 0, 0, 0, 0, 0]
    ages = [message.schedule.samples.age for message in run.reported]
    assert ages == [(), (), (1,) * 8 + (0,) * 4, (), (), (1,) * 4 + (0,) * 8, (), ()]
    assert set(run.reported[2].schedule.samples.policy_version) == {0, 2}
    ids = [sample for message in run.reported for sample in message.schedule.samples.sample_id]
    assert len(set(ids)) == len(ids) == 3 * 32


def test_an_iteration_whose_rollouts_all_wait_is_told_and_does_not_count_as_empty() -> None:
    batch = FixedBatchSpec(type="fixed", global_batch_size=40, remainder=Remainder.CARRY)
    filter_spec = FilterSpec(max_consecutive_empty=1)
    run = Run([mixed_in_first(4)] * 4, iterations=4, batch=batch, filter_spec=filter_spec)
    assert run.run() is Outcome.SUCCEEDED
    assert [event.kind for event in run.events] == ["iteration_carried"] * 2
    assert [event.data["num_carried_out"] for event in run.events] == [16, 32]
    assert run.column("num_carried_in") == [32, 8]
    assert run.column("num_carried_out") == [8, 0]
    # The last iteration trains all that is left.
    assert run.column("global_batch_size") == [40, 24]
    assert run.reported[0].schedule.samples.age == (2,) * 16 + (1,) * 16 + (0,) * 8


def test_what_waits_is_trained_even_if_the_last_iteration_gives_nothing() -> None:
    batch = FixedBatchSpec(type="fixed", global_batch_size=40, remainder=Remainder.CARRY)
    run = Run([mixed_in_first(4), all_wrong], iterations=2, batch=batch)
    assert run.run() is Outcome.SUCCEEDED
    assert run.column("global_batch_size") == [16]
    assert run.column("num_filtered") == [32]


def test_a_ramp_goes_on_over_iterations_and_the_warm_start_is_no_part_of_it() -> None:
    batch = ramp(8, 16, 8, 40, remainder=Remainder.CARRY)
    answers = chain(repeat(all_wrong, 4), repeat(mixed))
    run = Run(answers, iterations=3, batch=batch, warm_start=warm_start_spec())
    run.run()
    rl = [message for message in run.reported if message.phase is Phase.RL]
    assert [message.global_batch_size for message in rl] == [8, 8, 8, 8, 8, 16, 16, 16, 8]
    assert [message.iteration for message in rl] == [0, 0, 0, 0, 1, 1, 2, 2, 2]


def test_rollouts_balance_in_every_iteration_that_trains() -> None:
    for remainder in Remainder:
        batch = token_budget(70, remainder)
        run = Run(cycle([mixed, mixed_in_first(3), mixed_in_first(6)]), iterations=6, batch=batch)
        run.run()
        for iteration in set(run.column("iteration")):
            steps = [message for message in run.reported if message.iteration == iteration]
            comes = sum(step.num_carried_in + step.num_generated for step in steps)
            goes = sum(step.num_filtered + step.num_dropped + step.num_carried_out for step in steps)
            assert comes == goes + sum(step.num_rollouts for step in steps)


def test_control_sets_the_size_of_the_next_cut_and_says_why() -> None:
    batch = adaptive(2, 16, mode="control", global_batch_size=8, warmup_steps=0, patience=2, smoothing=0.0)
    run = Run([mixed] * 2, iterations=2, batch=batch)
    # Ranks that disagree altogether: noise hides all but a little of the gradient.
    run.trainer.noise = GradientNoise(rank_sq_norms=(1.0, 1.0), sq_norm=2.1)
    run.run()
    assert run.column("global_batch_size") == [8, 8, 8, 8, 16, 16]
    decisions = [message.batch_decision for message in run.reported]
    assert [decision.size_after for decision in decisions if decision] == [8, 16, 16, 16, 16, 16]
    assert all(decision and decision.reason for decision in decisions)
    assert "noise/scale" in run.reported[0].metrics


def test_advice_changes_no_size() -> None:
    # One micro-batch a rank, so that both ranks have as many samples, which these norms are for.
    run = Run([mixed] * 2, iterations=2, batch=adaptive(2, 16, warmup_steps=0), token_cap=10_000)
    run.trainer.noise = GradientNoise(rank_sq_norms=(1.0, 1.0), sq_norm=2.1)
    run.run()
    assert run.column("global_batch_size") == [32, 32]
    assert [decision.proposed_size for decision in run.column("batch_decision")] == [16, 16]


def test_only_adaptive_batches_have_decisions_and_only_reinforcement_a_zero_variance_policy() -> None:
    run = Run([all_wrong] * 4 + [mixed], iterations=1, warm_start=warm_start_spec())
    run.run()
    assert set(run.column("batch_decision")) == {None}
    policies = [message.schedule.zero_variance for message in run.reported]
    assert policies == [None] * 6 + [ZeroVariancePolicy.EXCLUDE]


def test_the_reward_is_the_mean_before_the_filter() -> None:
    run = Run([lambda i: RIGHT if i < 16 or i == 20 else (8, EOS) if i == 31 else WRONG], iterations=1)
    run.run()
    metrics = run.reported[0].metrics
    assert metrics["reward/mean"].value == pytest.approx(17 / 31)
    assert metrics["reward/mean"].weight == 31
    assert metrics["reward/zero_variance_frac"].value == pytest.approx(7 / 8)
    assert metrics["rollout/unscorable_frac"].value == pytest.approx(1 / 32)
    assert metrics["data/left_out_prompts"].value == 2


def test_an_unscorable_rollout_is_left_out_and_counted() -> None:
    run = Run([lambda i: (8, EOS) if i == 1 else mixed(i)], iterations=1)
    run.run()
    assert run.column("global_batch_size") == [31]
    assert run.column("num_filtered") == [1]


def test_nothing_survives() -> None:
    given, expected = (case("groups", "nothing-survives")[key] for key in ("given", "expect"))
    assert given["groups"] == given["zero_variance_groups"] == NUM_PROMPTS
    filter_spec = FilterSpec(max_refills=given["max_refills"], max_consecutive_empty=2)
    run = Run(chain([all_wrong] * 4, repeat(mixed)), iterations=2, filter_spec=filter_spec)
    assert run.run() is Outcome.SUCCEEDED
    [skipped] = run.events
    assert skipped.kind == "iteration_skipped"
    assert skipped.data["status"] == expected["status"]
    assert skipped.data["lr_advance"] == expected["lr_advance"]
    assert skipped.data["num_refills"] == given["max_refills"]
    assert skipped.data["num_generated"] == 4 * 32
    assert run.source.num_taken == 5 * NUM_PROMPTS
    assert run.reported[0].lr_position_before == 0
    assert run.column("iteration") == [1]


def test_a_refill_that_gives_something_is_trained_with_all_rollouts_in_the_books() -> None:
    run = Run([all_wrong, mixed], iterations=1, filter_spec=FilterSpec(max_refills=3))
    run.run()
    assert run.column("num_generated") == [64]
    assert run.column("num_filtered") == [32]
    assert run.reported[0].metrics["reward/mean"].value == pytest.approx(8 / 64)
    assert len({sampling.seed for sampling in run.engine.samplings}) == 2


def test_too_many_empty_iterations_in_a_row_fail_and_say_why() -> None:
    run = Run(repeat(all_right), iterations=9, filter_spec=FilterSpec(max_consecutive_empty=3))
    with pytest.raises(NothingToTrainError, match=r"3 iterations in a row .* mean reward was 1\.000"):
        run.run()
    assert len(run.events) == 3


def test_a_trained_iteration_ends_the_row_of_empty_ones() -> None:
    answers = [all_wrong, mixed, all_wrong, mixed]
    run = Run(answers, iterations=4, filter_spec=FilterSpec(max_consecutive_empty=2))
    assert run.run() is Outcome.SUCCEEDED


@pytest.mark.parametrize(
    ("answers", "remark"),
    [
        ([mixed] * 3, None),
        ([mixed, all_wrong, mixed], "finished; 1 of 3 iterations trained nothing: the filter left no rollout, or too"),
        (
            [all_wrong] * 3,
            "finished; 3 of 3 iterations trained nothing: the filter left no rollout, or too few for a step",
        ),
    ],
)
def test_a_run_that_finishes_tells_how_many_iterations_trained_nothing(answers: list[Any], remark: str | None) -> None:
    run = Run(answers, iterations=3, filter_spec=FilterSpec(max_consecutive_empty=9))
    assert run.run() is Outcome.SUCCEEDED
    told = run.loop.remark
    assert told is None if remark is None else told is not None and told.startswith(remark)


def test_zero_variance_groups_can_be_kept() -> None:
    run = Run([all_wrong], iterations=1, filter_spec=FilterSpec(zero_variance=ZeroVariancePolicy.INCLUDE))
    run.run()
    assert run.column("global_batch_size") == [32]


def test_survivors_that_fill_no_step_are_told_as_such() -> None:
    batch = FixedBatchSpec(type="fixed", global_batch_size=32, remainder=Remainder.DROP)
    run = Run([mixed_in_first(2), mixed], iterations=2, batch=batch)
    run.run()
    [skipped] = run.events
    assert skipped.data["num_dropped"] == 8
    assert "batch.remainder=drop" in skipped.message


def test_the_warm_start_ends_at_the_held_out_reward() -> None:
    run = Run([all_wrong, all_wrong, all_right, mixed], iterations=1, warm_start=warm_start_spec())
    run.run()
    assert run.column("phase") == ["warm_start"] * 4 + ["rl"]
    assert run.column("step") == [0, 1, 2, 3, 4]
    assert run.column("iteration") == [0, 1, 2, 3, 0]
    evals = [message.metrics.get("eval/reward") for message in run.reported]
    assert [value.value if value else None for value in evals] == [None, 0.0, None, 1.0, None]
    assert run.events[0].data == {"num_steps": 4, "reward": 1.0, "reached": True}
    assert [type(phase.loss) for phase in run.trainer.phases] == [SftLossSpec, ClippedLossSpec]
    assert {sampling.temperature for sampling in run.engine.samplings[:3]} == {0.0}


def test_the_warm_start_gives_up_at_its_last_step() -> None:
    run = Run(chain(repeat(all_wrong, 4), [mixed]), iterations=1, warm_start=warm_start_spec(max_steps=5))
    run.run()
    assert run.column("phase").count("warm_start") == 5
    assert run.events[0].data["reached"] is False


def test_a_policy_that_is_good_enough_needs_no_warm_start() -> None:
    run = Run([all_right, mixed], iterations=1, warm_start=warm_start_spec())
    run.run()
    assert run.column("phase") == ["rl"]


def test_a_step_that_does_not_move_the_weights_makes_no_new_version() -> None:
    run = Run([mixed, mixed])
    run.trainer.status = StepStatus.SKIPPED_NON_FINITE
    run.run()
    assert run.column("policy_version") == [0, 0]
    assert run.column("status") == [StepStatus.SKIPPED_NON_FINITE] * 2


def test_heartbeats_can_tell_how_far_it_is() -> None:
    run = Run([mixed, mixed])
    run.run()
    assert run.reporter.activities[0] == ("iteration 0 of 2: generating 32 rollouts", 0, 2)
    assert run.reporter.activities[-1] == ("iteration 1 of 2: training 1 steps on 32 samples", 1, 2)


@pytest.mark.parametrize(("policy", "total"), [(ZeroVariancePolicy.INCLUDE, 6), (ZeroVariancePolicy.EXCLUDE, None)])
def test_the_number_of_fixed_steps_is_known_where_the_filter_keeps_all(
    policy: ZeroVariancePolicy, total: int | None
) -> None:
    batch = FixedBatchSpec(type="fixed", global_batch_size=12)
    run = Run([mixed] * 2, batch=batch, filter_spec=FilterSpec(zero_variance=policy))
    run.run()
    assert {told for _, _, told in run.reporter.activities} == {total}
    assert len(run.reported) == 6


def test_a_step_tells_who_did_what_when() -> None:
    run = Run(repeat(mixed), iterations=2, warm_start=warm_start_spec(max_steps=2, until_reward=1.0))
    run.run()
    for message in run.reported:
        timeline = message.timeline
        assert timeline is not None
        assert set(timeline.actor) == {"driver"}
        assert max(timeline.end_s) <= (message.ended_at - message.started_at).total_seconds() + 1e-6
    told = [set(message.timeline.activity) for message in run.reported if message.timeline is not None]
    # The checkpoint between warm start and reinforcement belongs to no step.
    assert told == [{"schedule"}, {"schedule", "evaluate"}, {"schedule", "score"}, {"schedule", "score"}]
