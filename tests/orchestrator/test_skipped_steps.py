from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.loop import Outcome
from orchestrator.skipped_steps import TooManySkipsError
from tests.orchestrator.loop_run import Run, mixed_in_first
from trainer.contracts.policy_trainer import StepStatus


@pytest.fixture(autouse=True)
def _own_checkpoints(tmp_path: Path) -> None:
    Run.root = tmp_path


def skipping_at(run: Run, *steps: int) -> None:
    """Let these steps be skipped for a loss that was not finite in the first micro-batch of rank 1."""

    def before(_: object = None) -> None:
        is_bad = len(run.trainer.calls) in steps
        run.trainer.status = StepStatus.SKIPPED_NON_FINITE if is_bad else StepStatus.TRAINED
        run.trainer.non_finite = ((1, 0),) if is_bad else ()

    run.engine.before_generate = before


def test_a_skipped_step_names_the_samples_and_training_goes_on() -> None:
    run = Run([mixed_in_first(3)] * 4, iterations=4)
    skipping_at(run, 1)
    assert run.run() is Outcome.SUCCEEDED
    assert run.column("status") == [StepStatus.TRAINED, StepStatus.SKIPPED_NON_FINITE, *[StepStatus.TRAINED] * 2]
    assert run.column("policy_version") == [0, 1, 1, 2]
    (event,) = run.events
    schedule = run.reported[1].schedule
    named = [schedule.samples.sample_id[i] for i in schedule.micro_batches[1][0]]
    assert named
    assert event.kind == "step_skipped"
    assert event.data == {"step": 1, "status": "skipped:non_finite", "sample_ids": named}
    assert all(sample_id in event.message for sample_id in named)


def test_a_gradient_that_alone_is_not_finite_accuses_no_sample() -> None:
    run = Run([mixed_in_first(3)], iterations=1)
    run.trainer.status = StepStatus.SKIPPED_NON_FINITE
    assert run.run() is Outcome.SUCCEEDED
    (event,) = run.events
    assert event.data["sample_ids"] == []
    assert "gradient was not finite though every micro-batch's loss was" in event.message


def test_many_in_a_row_end_the_run_and_say_how_many_are_allowed() -> None:
    run = Run([mixed_in_first(3)] * 20, iterations=20)
    skipping_at(run, 0, 1, 2, 3, 5, 6, 7, 8, 9)
    with pytest.raises(TooManySkipsError, match=r"5 steps in a row .* limits\.max_consecutive_skips is 5"):
        run.run()
    assert len(run.reported) == 10
    assert len(run.events) == 9
