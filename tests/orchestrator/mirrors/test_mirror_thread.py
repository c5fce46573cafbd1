"""A tracker in trouble costs the run one warning."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from orchestrator.mirrors.mirror_thread import MirrorThread
from tests.orchestrator.factories import case
from tests.orchestrator.ingest_server import IngestServer, until
from tests.orchestrator.mirrors.factories import FakeTracker, a_run, a_step
from tests.orchestrator.run_factories import small_step, state_report


def thread_of(tracker: FakeTracker, tmp_path: Path, warnings: list[str], **options: Any) -> MirrorThread:
    return MirrorThread(tracker, name="wandb", run=a_run(tmp_path), warn=warnings.append, **options)


def test_steps_arrive_in_order_and_the_end_is_told(tmp_path: Path) -> None:
    tracker, warnings = FakeTracker(), list[str]()
    thread = thread_of(tracker, tmp_path, warnings)
    for step in range(50):
        thread.step(a_step(step))
    thread.end("succeeded")
    thread.wait(5.0)
    assert (tracker.steps, tracker.outcome, warnings) == (list(range(50)), "succeeded", [])


def test_a_tracker_that_raises_is_warned_of_once_and_gets_the_later_steps(tmp_path: Path) -> None:
    tracker, warnings = FakeTracker(raises_at=(5, 7)), list[str]()
    thread = thread_of(tracker, tmp_path, warnings)
    for step in range(10):
        thread.step(a_step(step))
    thread.end("failed")
    thread.wait(5.0)
    assert tracker.steps == [0, 1, 2, 3, 4, 6, 8, 9]
    assert thread.num_left_out == 2
    [warning] = warnings
    assert "wandb did not take step 5: tracker is out" in warning


def test_one_that_takes_nothing_is_left_alone_in_the_end(tmp_path: Path) -> None:
    tracker, warnings = FakeTracker(raises_at=tuple(range(100))), list[str]()
    thread = thread_of(tracker, tmp_path, warnings)
    for step in range(100):
        thread.step(a_step(step))
    thread.wait(5.0)
    assert len(warnings) == 1
    thread.step(a_step(100))
    thread.end("succeeded")
    assert tracker.outcome is None


def test_a_library_that_is_missing_is_told_and_no_step_waits_for_it(tmp_path: Path) -> None:
    warnings = list[str]()
    thread = thread_of(FakeTracker(opens=False), tmp_path, warnings)
    thread.wait(5.0)
    thread.step(a_step(0))
    assert thread.num_left_out == 1
    [warning] = warnings
    assert "could not be opened: No module named 'wandb'" in warning


def test_one_that_hangs_holds_nobody_up_and_is_left_behind(tmp_path: Path) -> None:
    tracker, warnings = FakeTracker(hangs=True), list[str]()
    thread = thread_of(tracker, tmp_path, warnings, max_queued_steps=10)
    began = time.monotonic()
    for step in range(30):
        thread.step(a_step(step))
    thread.end("succeeded")
    thread.wait(0.1)
    assert time.monotonic() - began < 2.0
    assert thread.num_left_out >= 19
    [warning] = warnings
    assert "more slowly than they are trained" in warning
    tracker.go_on.set()
    thread.wait(5.0)


def test_one_that_hangs_with_an_empty_queue_is_warned_of_too(tmp_path: Path) -> None:
    tracker, warnings = FakeTracker(hangs=True), list[str]()
    thread = thread_of(tracker, tmp_path, warnings, hangs_after_s=0.05)
    thread.step(a_step(0))
    time.sleep(0.2)
    thread.step(a_step(1))
    assert "has not answered" in warnings[0]
    tracker.go_on.set()
    thread.end("succeeded")
    thread.wait(5.0)
    assert tracker.steps == [0, 1]


def test_a_warning_that_cannot_be_told_breaks_nothing(tmp_path: Path) -> None:
    def warn(message: str) -> None:
        raise ValueError("the journal is closed")

    tracker = FakeTracker(raises_at=(0,))
    thread = MirrorThread(tracker, name="wandb", run=a_run(tmp_path), warn=warn)
    thread.step(a_step(0))
    thread.step(a_step(1))
    thread.end("succeeded")
    thread.wait(5.0)
    assert tracker.steps == [1]


@pytest.mark.parametrize("trouble", [{"raises_at": tuple(range(5, 20))}, {"hangs": True}, {"opens": False}])
def test_case_tracker_outage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trouble: dict[str, Any]) -> None:
    """Expected: training goes on, database complete, warning shown. The reporter is real, and so is its HTTP."""
    from orchestrator.contracts.tracking_spec import WandbTracking
    from orchestrator.mirrors import mirrors as all_mirrors
    from orchestrator.reporting.journal import Journal
    from orchestrator.reporting.reporter import JournalReporter

    expected = case("operations", "tracker-outage")["expect"]
    assert expected == "training goes on, database complete, warning shown"
    tracker = FakeTracker(**trouble)
    monkeypatch.setattr(all_mirrors, "mirror_of", lambda spec: tracker)
    server = IngestServer()
    reporter = JournalReporter(
        journal=Journal(tmp_path / "attempt.jsonl"), server_url=server.url, run_id="run_1", attempt=1, token="secret"
    )
    mirrors = all_mirrors.start_mirrors(
        [WandbTracking(type="wandb", project="p")], a_run(tmp_path), tell=reporter.event, close_within_s=0.2
    )
    reporter.mirror_to(mirrors)
    steps = [small_step(step) for step in range(12)]
    began = time.monotonic()
    for step in steps:
        reporter.step(step)
    assert time.monotonic() - began < 2.0
    reporter.finish(state_report())
    taken = [step["step"] for request in server.of("steps:batch") for step in request.body["steps"]]
    assert taken == list(range(12))
    [event] = [event for request in server.of("events:batch") for event in request.body["events"]]
    assert (event["kind"], event["data"]) == ("mirror.failed", {"mirror": "wandb"})
    assert len(server.of("state")) == 1
    tracker.go_on.set()
    server.close()


def test_the_thread_ends_with_its_tracker(tmp_path: Path) -> None:
    tracker, warnings = FakeTracker(), list[str]()
    thread = thread_of(tracker, tmp_path, warnings)
    thread.end("stopped")
    until(lambda: tracker.outcome == "stopped")
    thread.wait(5.0)
    assert not warnings
