"""Where the loop stops and waits when it is asked to."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from orchestrator.contracts.batch_spec import FixedBatchSpec
from orchestrator.loop import Outcome
from tests.orchestrator.loop_run import (
    Run,
    all_wrong,
    mixed,
    warm_start_spec,
)


@pytest.fixture(autouse=True)
def _own_checkpoints(tmp_path: Path) -> None:
    Run.root = tmp_path


def test_a_stop_is_honoured_between_the_steps_of_an_iteration() -> None:
    run = Run([mixed], batch=FixedBatchSpec(type="fixed", global_batch_size=8))
    run.reporter.on_step = lambda message: setattr(run.reporter, "stop_requested", message.step == 1)
    assert run.run() is Outcome.STOPPED
    assert run.column("step") == [0, 1]


def test_a_stop_is_honoured_before_generation() -> None:
    run = Run([])
    run.reporter.stop_requested = True
    assert run.run() is Outcome.STOPPED


def test_a_stop_is_honoured_after_generation() -> None:
    run = Run([mixed])
    run.engine.before_generate = lambda: setattr(run.reporter, "stop_requested", True)
    assert run.run() is Outcome.STOPPED
    assert run.reported == []


def test_a_stop_is_honoured_in_the_warm_start() -> None:
    run = Run([all_wrong, all_wrong], warm_start=warm_start_spec(eval_every=4))
    run.reporter.on_step = lambda message: setattr(run.reporter, "stop_requested", message.step == 2)
    assert run.run() is Outcome.STOPPED
    assert run.column("step") == [0, 1, 2]


def test_a_pause_between_generation_and_training_is_in_no_time_of_the_step() -> None:
    run = Run([mixed, mixed], iterations=2, checkpoints=Run.root / "checkpoints", every_steps=1)

    def ask() -> None:
        run.reporter.pause_requested = run.steps.num_steps == 1

    committed: list[int] = []

    def wait() -> None:
        committed.append(len(run.reporter.checkpoints))
        time.sleep(0.3)

    run.engine.before_generate, run.reporter.while_paused = ask, wait
    assert run.run() is Outcome.SUCCEEDED
    # A pause may be long: the checkpoint that was being written is whole before it begins.
    assert committed == [1]
    assert all(float(message.metrics["perf/step_s"].value or 0) < 0.3 for message in run.reported)
    assert all((message.ended_at - message.started_at).total_seconds() < 0.3 for message in run.reported)
    assert all((message.ended_at - message.started_at).total_seconds() < 0.3 for message in run.reporter.iterations)


def test_a_wish_to_stop_during_a_pause_ends_the_run_there() -> None:
    run = Run([mixed, mixed], iterations=2)

    def ask() -> None:
        run.reporter.pause_requested = run.steps.num_steps == 1

    def stop() -> None:
        run.reporter.stop_requested = True

    run.engine.before_generate, run.reporter.while_paused = ask, stop
    assert run.run() is Outcome.STOPPED
    assert len(run.reported) == 1
