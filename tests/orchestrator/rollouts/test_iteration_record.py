from __future__ import annotations

from collections import Counter
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orchestrator.contracts.algorithm_spec import AlgorithmSpec
from orchestrator.contracts.batch_spec import AllBatchSpec, BatchSpec, FixedBatchSpec, Remainder
from orchestrator.contracts.recording_spec import RecordingSpec
from orchestrator.contracts.rollout_messages import IterationMessage, RolloutFate, RolloutMessage
from orchestrator.contracts.rollout_spec import FilterSpec
from orchestrator.loop import NothingToTrainError, Outcome
from orchestrator.rollouts.iteration_record import IterationRecorder
from tests.orchestrator.batch_factories import ramp, token_budget
from tests.orchestrator.loop_run import GROUP_SIZE, NUM_PROMPTS, Run, all_wrong, mixed, mixed_in_first

CARRY = FixedBatchSpec(type="fixed", global_batch_size=12, remainder=Remainder.CARRY)


@pytest.fixture(autouse=True)
def _own_checkpoints(tmp_path: Path) -> None:
    Run.root = tmp_path


def iterations_of(answers: list[Any], **options: Any) -> list[IterationMessage]:
    run = Run(answers, iterations=options.pop("iterations", len(answers)), **options)
    run.run()
    return run.reporter.iterations


def rollouts_of(message: IterationMessage) -> list[RolloutMessage]:
    return [rollout for group in message.groups for rollout in group.rollouts]


def test_each_rollout_comes_with_its_fate() -> None:
    batch = FixedBatchSpec(type="fixed", global_batch_size=8, remainder=Remainder.DROP)
    [first, second] = iterations_of([mixed_in_first(5), mixed_in_first(4)], batch=batch)
    assert (first.first_step, first.num_steps, second.first_step, second.num_steps) == (0, 2, 2, 2)
    assert (first.num_generated, first.num_trained, first.num_groups) == (32, 16, 8)
    assert first.filtered == {"zero_variance": 12}
    assert first.dropped == {"remainder": 4}
    assert second.dropped == {}
    told = [(rollout.fate, rollout.reason, rollout.step) for rollout in rollouts_of(first)]
    assert told == [
        *[(RolloutFate.TRAINED, None, 0)] * 8,
        *[(RolloutFate.TRAINED, None, 1)] * 8,
        *[(RolloutFate.DROPPED, "remainder", None)] * 4,
        *[(RolloutFate.FILTERED, "zero_variance", None)] * 12,
    ]
    assert [rollout.step for rollout in rollouts_of(second)][:16] == [2] * 8 + [3] * 8


def test_a_rollout_is_told_with_its_text_tokens_and_judgement() -> None:
    [message] = iterations_of([mixed], algorithm=AlgorithmSpec(old_log_probs="trainer"))
    group = message.groups[1]
    assert (group.group_id, group.task, group.prompt, group.answer, group.num_prompt_tokens) == (
        ("p1", "fake", "?", "5", 3)
    )
    right, wrong, *_ = group.rollouts
    assert (right.text, right.num_tokens, right.reward, right.truncated) == ("5", 2, 1.0, False)
    assert right.advantage == 0.75
    assert (right.pieces, right.log_probs, right.trainer_log_probs) == (("5", "9"), (-0.5, -0.5), (-0.25, -0.25))
    assert (right.first_policy_version, right.last_policy_version) == (0, 0)
    assert (wrong.text, wrong.reward, wrong.advantage) == ("6 7", 0.0, -0.25)


def test_a_filtered_rollout_has_neither_advantage_nor_log_probs_of_the_trainer() -> None:
    [message] = iterations_of([mixed_in_first(1)], algorithm=AlgorithmSpec(old_log_probs="trainer"))
    last = rollouts_of(message)[-1]
    assert (last.advantage, last.trainer_log_probs, last.log_probs) == (None, (), (-0.5,) * 3)


def test_what_waits_is_told_again_when_its_turn_comes() -> None:
    first, second, third = iterations_of([mixed] * 3, batch=CARRY)
    carried = [rollout.rollout_id for rollout in rollouts_of(first) if rollout.fate is RolloutFate.CARRIED]
    assert len(carried) == first.num_carried_out == second.num_carried_in == 8
    assert [(told.rollout_id, told.fate, told.step, told.age) for told in second.waited] == [
        (rollout_id, RolloutFate.TRAINED, 2, 1) for rollout_id in carried
    ]
    assert len(third.waited) == second.num_carried_out == 4


def test_rollouts_that_wait_twice_are_told_twice() -> None:
    batch = FixedBatchSpec(type="fixed", global_batch_size=40, remainder=Remainder.CARRY)
    messages = iterations_of([mixed_in_first(4)] * 3, batch=batch)
    assert [[(told.fate, told.age) for told in message.waited[:1]] for message in messages] == [
        [],
        [(RolloutFate.CARRIED, 1)],
        [(RolloutFate.TRAINED, 2)],
    ]


def test_an_iteration_that_trains_nothing_has_its_books_too() -> None:
    first, second = iterations_of([all_wrong, mixed])
    assert (first.first_step, first.num_steps, first.num_trained) == (None, 0, 0)
    assert first.filtered == {"zero_variance": 32}
    assert second.first_step == 0


def test_the_iteration_that_ends_a_run_is_told_first() -> None:
    run = Run([all_wrong], iterations=1, filter_spec=FilterSpec(max_consecutive_empty=1))
    with pytest.raises(NothingToTrainError):
        run.run()
    assert [message.num_generated for message in run.reporter.iterations] == [32]


def test_an_iteration_that_is_stopped_tells_how_far_it_came() -> None:
    batch = FixedBatchSpec(type="fixed", global_batch_size=9, remainder=Remainder.DROP)
    run = Run([mixed], iterations=1, batch=batch)

    def stop(message: object) -> None:
        run.reporter.stop_requested = True

    run.reporter.on_step = stop
    assert run.run() is Outcome.STOPPED
    [message] = run.reporter.iterations
    assert (message.first_step, message.num_steps, message.num_trained) == (0, 1, 9)
    assert message.dropped == {"remainder": 5, "stopped": 18}
    reasons = [rollout.reason for rollout in rollouts_of(message)]
    assert reasons == [None] * 9 + ["stopped"] * 18 + ["remainder"] * 5


def test_a_nul_is_told_as_what_is_no_character() -> None:
    run = Run([mixed], iterations=1)
    recorder = IterationRecorder(RecordingSpec(), pieces=lambda token_ids: ["\0"] * len(token_ids))
    run.loop._recorder = recorder
    run.run()
    [message] = run.reporter.iterations
    assert rollouts_of(message)[0].pieces == ("\ufffd", "\ufffd")


def test_refills_are_in_the_books_of_their_iteration() -> None:
    [message] = iterations_of([all_wrong, mixed], iterations=1, filter_spec=FilterSpec(max_refills=1))
    assert (message.num_refills, message.num_groups, message.num_generated) == (1, 16, 64)
    assert message.filtered == {"zero_variance": 32}


@pytest.mark.parametrize(
    ("wanted", "groups"),
    [(3, ["p0", "p2", "p5"]), (0, []), (8, [f"p{i}" for i in range(8)]), (None, [f"p{i}" for i in range(8)])],
)
def test_recorded_groups_are_spread_evenly(wanted: int | None, groups: list[str]) -> None:
    recording = RecordingSpec(groups_per_iteration=wanted, tokens_per_rollout=1)
    [message] = iterations_of([mixed], recording=recording)
    assert [group.group_id for group in message.groups] == groups
    assert message.num_groups == NUM_PROMPTS
    assert message.num_trained == NUM_PROMPTS * GROUP_SIZE
    assert {len(rollout.pieces) for rollout in rollouts_of(message)} <= {1}


def test_only_recorded_rollouts_are_told_of_again() -> None:
    messages = iterations_of([mixed] * 3, batch=CARRY, recording=RecordingSpec(groups_per_iteration=1))
    assert [message.num_carried_in for message in messages] == [0, 8, 4]
    assert [message.waited for message in messages] == [()] * 3


@given(
    counts=st.lists(st.integers(0, NUM_PROMPTS), min_size=1, max_size=5),
    batch=st.one_of(
        st.just(AllBatchSpec(type="all")),
        st.builds(
            FixedBatchSpec,
            type=st.just("fixed"),
            global_batch_size=st.integers(1, 50),
            remainder=st.sampled_from(Remainder),
        ),
        st.sampled_from(Remainder).map(lambda remainder: ramp(4, 12, 4, 40, remainder=remainder)),
        st.sampled_from(Remainder).map(lambda remainder: token_budget(60, remainder=remainder)),
    ),
)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_every_rollout_of_a_run_ends_in_one_place(counts: list[int], batch: BatchSpec) -> None:
    run = Run(
        [mixed_in_first(count) for count in counts],
        iterations=len(counts),
        batch=batch,
        filter_spec=FilterSpec(max_consecutive_empty=len(counts) + 1),
    )
    run.run()
    ends: Counter[str] = Counter()
    for message in run.reporter.iterations:
        told = [*rollouts_of(message), *message.waited]
        assert len(told) == message.num_generated + message.num_carried_in
        fates = Counter(one.fate for one in told)
        assert fates[RolloutFate.TRAINED] == message.num_trained
        assert fates[RolloutFate.CARRIED] == message.num_carried_out
        assert fates[RolloutFate.FILTERED] == sum(message.filtered.values())
        assert fates[RolloutFate.DROPPED] == sum(message.dropped.values())
        ends.update(one.rollout_id for one in told if one.fate is not RolloutFate.CARRIED)
    assert len(ends) == 32 * len(counts)
    assert set(ends.values()) == {1}
    trained = {(rollout_id, step.step) for step in run.reported for rollout_id in set(step.schedule.samples.rollout_id)}
    told_trained = {
        (one.rollout_id, one.step)
        for message in run.reporter.iterations
        for one in chain(rollouts_of(message), message.waited)
        if one.fate is RolloutFate.TRAINED
    }
    assert told_trained == trained
