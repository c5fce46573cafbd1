from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from orchestrator.checkpointing.checkpoint_store import CheckpointStore
from orchestrator.checkpointing.training_state import TrainingState
from orchestrator.contracts.batch_spec import BatchSpec, FixedBatchSpec, Remainder
from orchestrator.contracts.messages import Phase, StepMessage
from orchestrator.contracts.rollout_messages import IterationMessage
from tests.orchestrator.batch_factories import adaptive, ramp
from tests.orchestrator.loop_run import (
    Answers,
    Run,
    all_wrong,
    mixed_in_first,
    warm_start_spec,
)
from trainer.contracts.policy_trainer import GradientNoise


@pytest.fixture(autouse=True)
def _own_checkpoints(tmp_path: Path) -> None:
    Run.root = tmp_path


class DiedError(Exception):
    """The process ended here."""


def dying_at(step: int) -> Callable[[StepMessage], None]:
    def on_step(message: StepMessage) -> None:
        if message.step == step:
            raise DiedError

    return on_step


def without_times(messages: Iterable[StepMessage | IterationMessage]) -> list[dict[str, Any]]:
    left_out = {"started_at", "ended_at", "metrics", "measured_idle_frac", "timeline"}
    return [message.model_dump(exclude=left_out) for message in messages]


@pytest.mark.parametrize("dies_at", range(9))
@pytest.mark.parametrize(
    "batch",
    [
        FixedBatchSpec(type="fixed", global_batch_size=9, remainder=Remainder.CARRY),
        ramp(start=4, end=12, increment=4, over_samples=40, remainder=Remainder.CARRY),
        adaptive(min_size=2, max_size=64, global_batch_size=8),
    ],
    ids=lambda batch: batch.type,
)
def test_a_run_that_dies_goes_on_as_if_it_never_had(batch: BatchSpec, dies_at: int, tmp_path: Path) -> None:
    # Greedy answers during the warm start are all wrong. What the engine answers depends on the call alone.
    answers = [all_wrong] * 4 + [mixed_in_first(count) for count in (5, 3, 6, 4)]

    def attempt(answers: Sequence[Answers], directory: str = "checkpoints") -> Run:
        warm_start = warm_start_spec(max_steps=3, eval_every=1, until_reward=0.9)
        where = tmp_path / directory
        run = Run(answers, iterations=4, batch=batch, warm_start=warm_start, checkpoints=where, every_steps=1)
        run.trainer.noise = GradientNoise(rank_sq_norms=(2.0, 1.0), sq_norm=1.0)
        return run

    unbroken = attempt(answers, "unbroken")
    unbroken.run()
    expected = without_times(unbroken.reported)
    assert len(expected) >= 8

    first = attempt(answers)
    first.reporter.on_step = dying_at(dies_at)
    if dies_at < len(expected):
        with pytest.raises(DiedError):
            first.run()
    else:
        first.run()
    again = attempt([])
    state = again.checkpoints.resume()
    resumed_at = 0 if state is None else state.state.num_steps
    calls = len(answers) - _calls_left(None if state is None else state.state, len(answers))
    second = attempt(answers[calls:])
    second.run()
    assert without_times(second.reported) == expected[resumed_at:]
    first_iteration = state.state.iteration if state is not None and state.state.phase is Phase.RL else 0
    assert without_times(second.reporter.iterations) == without_times(unbroken.reporter.iterations)[first_iteration:]


def _calls_left(state: TrainingState | None, num_answers: int) -> int:
    """Calls of generate that a run makes from this state on."""
    if state is None:
        return num_answers
    return 4 - state.iteration if state.phase is Phase.RL else num_answers - 1 - state.iteration


def test_checkpoints_are_told_when_they_are_there_and_when_they_are_gone(tmp_path: Path) -> None:
    answers = [mixed_in_first(count) for count in (5, 3, 6)]
    run = Run(answers, iterations=3, checkpoints=tmp_path / "checkpoints", every_steps=1)
    run.run()
    told = [(message.step, message.iteration, message.removed) for message in run.reporter.checkpoints]
    assert told == [(1, 1, False), (2, 2, False), (3, 3, False), (1, 1, True)]
    last = run.reporter.checkpoints[-2]
    assert (last.phase, last.policy_version) == (Phase.RL, 3)
    assert last.num_bytes == sum(
        path.stat().st_size for path in Path(last.directory).iterdir() if path.name != "manifest.json"
    )
    assert last.write_s > 0


def test_the_checkpoints_of_both_phases_at_one_step_are_told_under_keys_of_their_own(tmp_path: Path) -> None:
    answers = [all_wrong] * 4 + [mixed_in_first(count) for count in (5, 3)]
    warm_start = warm_start_spec(max_steps=3, eval_every=1, until_reward=0.9)
    where = tmp_path / "checkpoints"
    run = Run(answers, iterations=2, warm_start=warm_start, checkpoints=where, every_steps=1)
    run.run()
    told = [event for event in run.reporter.events if event.kind == "checkpoint"]
    assert [event.data["step"] for event in told] == [1, 2, 3, 3, 4, 5]
    assert len({event.key for event in told}) == 6


def test_iterations_that_trained_nothing_are_counted_over_all_attempts(tmp_path: Path) -> None:
    def attempt(answers: Sequence[Answers]) -> Run:
        return Run(answers, iterations=5, checkpoints=tmp_path / "checkpoints", every_steps=1)

    first = attempt([all_wrong, *(mixed_in_first(count) for count in (5, 3, 6))])
    first.reporter.on_step = dying_at(2)
    with pytest.raises(DiedError):
        first.run()
    CheckpointStore(tmp_path / "checkpoints", keep_last=2, keep_every=None).go_back_to(1)
    second = attempt([all_wrong, mixed_in_first(3), mixed_in_first(6)])
    second.run()
    assert second.loop.remark is not None
    assert second.loop.remark.startswith("finished; 2 of 5 iterations trained nothing")


def test_a_run_goes_on_from_the_step_that_it_is_told_and_leaves_the_newer_line(tmp_path: Path) -> None:
    answers = [mixed_in_first(count) for count in (5, 3, 6, 4)]

    def attempt(answers: Sequence[Answers]) -> Run:
        return Run(answers, iterations=4, checkpoints=tmp_path / "checkpoints", every_steps=1)

    first = attempt(answers)
    first.reporter.on_step = dying_at(3)
    with pytest.raises(DiedError):
        first.run()
    second = attempt(answers[1:])
    CheckpointStore(tmp_path / "checkpoints", keep_last=2, keep_every=None).go_back_to(1)
    second.reporter.on_step = dying_at(1)
    with pytest.raises(DiedError):
        second.run()
    third = attempt(answers[1:])
    third.run()
    assert [message.step for message in third.reported] == [1, 2, 3]
