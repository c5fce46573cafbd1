"""What a run leaves behind is true: schedules, certificates, counts, histories."""

from fractions import Fraction
from itertools import accumulate

import pytest

from orchestrator.contracts.messages import ScheduleMessage
from tests.e2e.swell_stack import SwellStack
from trainer.contracts.certificate import Certificate
from trainer.contracts.schedule import StepSchedule, step_schedule_problems

pytestmark = pytest.mark.stack


def test_every_step_is_there_once_with_the_size_that_its_plan_gives(stack: SwellStack, finished_run: str) -> None:
    steps = stack.steps(finished_run)
    assert [step["step"] for step in steps] == list(range(16))
    assert [step["global_batch_size"] for step in steps] == [8] * 4 + [12, 12, 7] * 4
    assert [step["phase"] for step in steps] == ["warm_start"] * 4 + ["rl"] * 12
    assert [step["lr_position_after"] - step["lr_position_before"] for step in steps] == [
        step["global_batch_size"] for step in steps
    ]


def test_the_books_of_every_iteration_balance(stack: SwellStack, finished_run: str) -> None:
    steps = [step for step in stack.steps(finished_run) if step["phase"] == "rl"]
    for iteration in {step["iteration"] for step in steps}:
        mine = [step for step in steps if step["iteration"] == iteration]
        generated = sum(step["num_generated"] for step in mine)
        assert generated == 31
        assert generated == sum(step["num_rollouts"] + step["num_filtered"] + step["num_dropped"] for step in mine)


def test_every_schedule_keeps_the_invariants_and_its_weights_sum_to_exactly_one(
    stack: SwellStack, finished_run: str
) -> None:
    for step in stack.steps(finished_run):
        answer = stack.get(f"/runs/{finished_run}/steps/{step['step']}/schedule")
        message = ScheduleMessage.model_validate(answer["schedule"])
        weights = tuple(map(Fraction, message.samples.weight))
        assert sum(weights) == 1
        assert answer["certificate"]["total"] == "1"
        assert answer["certificate"]["holds"]

        certificate = Certificate(
            loss_aggregation=message.loss_aggregation, sample_ids=message.samples.sample_id, weights=weights
        )
        assert certificate.sha256 == message.certificate_sha256
        schedule = StepSchedule(micro_batches=message.micro_batches, certificate=certificate)
        lengths = message.samples.num_tokens
        assert step_schedule_problems(schedule, lengths=lengths, token_cap=message.token_cap) == []

        per_rank = [sum(map(len, rank)) for rank in message.micro_batches]
        assert len(per_rank) == 2
        assert sum(per_rank) == answer["global_batch_size"] == step["global_batch_size"]


def test_ranks_may_hold_different_numbers_of_samples(stack: SwellStack, finished_run: str) -> None:
    schedule = stack.get(f"/runs/{finished_run}/steps/6/schedule")["schedule"]
    per_rank = [sum(map(len, rank)) for rank in schedule["micro_batches"]]
    assert sum(per_rank) == 7
    assert per_rank[0] != per_rank[1]


def test_a_history_over_samples_counts_the_samples_of_every_step(stack: SwellStack, finished_run: str) -> None:
    history = stack.get("/metrics/query", run=finished_run, name="train/loss", x="samples", max_points=200)
    (series,) = history["series"]
    sizes = [step["global_batch_size"] for step in stack.steps(finished_run)]
    assert history["x"] == "samples"
    assert series["x"] == list(accumulate(sizes))
    assert series["step"] == list(range(len(sizes)))
    assert len(series["value"]) == len(series["weight"]) == len(sizes)
    assert not series["sampled"]


def test_what_a_driver_tells_beside_its_steps_can_be_asked(stack: SwellStack, finished_run: str) -> None:
    of_run = f"/runs/{finished_run}"
    iterations = stack.get(f"{of_run}/iterations")["items"]
    assert [(one["first_step"], one["num_steps"], one["num_trained"]) for one in iterations] == [
        (4 + 3 * k, 3, 31) for k in range(4)
    ]
    groups = stack.get(f"{of_run}/rollouts", iteration=3, limit=100)["items"]
    assert len(groups) == 31, "all of them are fewer than a run records"
    trained = {rollout["step"] for group in groups for rollout in group["rollouts"]}
    assert trained == {13, 14, 15}

    timeline = stack.get(f"{of_run}/steps/4/timeline")["timeline"]
    assert {"driver", "engine 0", "rank 0", "rank 1"} == set(timeline["actor"])
    assert {"generate", "score", "schedule", "forward_backward", "optimizer"} <= set(timeline["activity"])

    checkpoints = stack.get(f"{of_run}/checkpoints")["items"]
    assert [(one["step"], one["phase"], one["removed"]) for one in checkpoints] == [(16, "rl", False), (4, "rl", False)]

    logs = stack.get(f"{of_run}/logs", limit=2000)
    assert {"driver", "engine 0", "rank 0", "rank 1"} == set(logs["sources"])
    for source in logs["sources"]:
        numbers = [line["number"] for line in logs["items"] if line["source"] == source]
        assert numbers == list(range(len(numbers))), source


def test_the_command_line_shows_the_same(stack: SwellStack, finished_run: str) -> None:
    shown = stack.swell("show", "tiny", "--json").json
    assert (shown["id"], shown["state"], shown["num_steps"]) == (finished_run, "succeeded", 16)
    history = stack.swell("metrics", "tiny", "global_batch_size", "--x", "samples", "--json").json
    assert history["series"][0]["value"] == [step["global_batch_size"] for step in stack.steps(finished_run)]
