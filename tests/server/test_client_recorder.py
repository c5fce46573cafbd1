"""A recorder against a server that answers as it is told to: nothing that goes wrong reaches the training loop."""

from __future__ import annotations

import logging
import math
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from orchestrator.reporting.journal import Journal
from server.client.recording.attempt import RecordedAttempt
from server.client.recording.recorder import Recorder
from tests.orchestrator.ingest_server import Answer, IngestServer, Request, problem, until, wish
from trainer.contracts.metric import Metric, Reduction

MakeRecorder = Callable[..., Recorder]


@pytest.fixture
def server() -> Iterator[IngestServer]:
    server = IngestServer()
    yield server
    server.close()


@pytest.fixture
def make_recorder(server: IngestServer) -> Iterator[MakeRecorder]:
    made: list[Recorder] = []

    def make(url: str = server.url, **options: Any) -> Recorder:
        attempt = RecordedAttempt(server_url=url, run_id="run_1", number=1, ingest_token="secret")
        made.append(Recorder(attempt, **options))
        return made[-1]

    yield make
    for recorder in made:
        recorder.finish(timeout_s=0.0)


def log(recorder: Recorder, *steps: int, **changes: Any) -> None:
    for step in steps:
        recorder.log_step(step=step, global_batch_size=8 + step, **changes)


def steps_of(server: IngestServer) -> list[dict[str, Any]]:
    return [step for request in server.of("steps:batch") for step in request.body["steps"]]


def events_of(server: IngestServer) -> list[dict[str, Any]]:
    return [event for request in server.of("events:batch") for event in request.body["events"]]


def test_steps_arrive_in_order_with_their_numbers(server: IngestServer, make_recorder: MakeRecorder) -> None:
    recorder = make_recorder(total_steps=9)
    metrics = {"train/loss": (0.1, 3), "plain": 2, "max": Metric(reduction=Reduction.MAX, total=7.0), "none": None}
    log(recorder, 0, 1, 2, metrics=metrics, num_tokens=100, lr=1e-3, num_prompts=4, iteration=5)
    assert recorder.finish()
    steps = steps_of(server)
    assert [(step["step"], step["global_batch_size"], step["num_tokens"]) for step in steps] == [
        (0, 8, 100),
        (1, 9, 100),
        (2, 10, 100),
    ]
    assert steps[0]["metrics"] == {
        "train/loss": {"value": 0.1, "weight": 3.0, "reduction": "mean"},
        "plain": {"value": 2.0, "weight": 1.0, "reduction": "mean"},
        "max": {"value": 7.0, "weight": 1.0, "reduction": "max"},
        "none": {"value": None, "weight": 0.0, "reduction": "mean"},
    }
    assert (steps[0]["lr"], steps[0]["num_prompts"], steps[0]["iteration"]) == (1e-3, 4, 5)
    assert steps[1]["started_at"] == steps[0]["ended_at"]
    assert {request.authorization for request in server.requests} == {"Bearer secret"}
    assert server.of("state")[0].body["outcome"] == "succeeded"


def test_values_that_are_no_numbers_of_json_arrive_by_name(server: IngestServer, make_recorder: MakeRecorder) -> None:
    recorder = make_recorder()
    tensor = torch.tensor(0.5)
    metrics = {"nan": math.nan, "inf": (math.inf, 2), "low": -math.inf, "torch": tensor, "numpy": np.float32(0.25)}
    log(recorder, 0, metrics=metrics)
    tensor.fill_(7.0)
    recorder.finish()
    told = {name: metric["value"] for name, metric in steps_of(server)[0]["metrics"].items()}
    assert told == {"nan": "NaN", "inf": "Infinity", "low": "-Infinity", "torch": 0.5, "numpy": 0.25}


def test_what_is_no_metric_is_left_out_and_the_step_is_kept(
    server: IngestServer, make_recorder: MakeRecorder, caplog: pytest.LogCaptureFixture
) -> None:
    recorder = make_recorder()
    odd = {"text": "high", "list": [1, 2, 3], "": 1.0, "weight": (1.0, math.nan), "less": (1.0, -1), "good": 1.0}
    log(recorder, 0, metrics=odd)
    recorder.finish()
    assert list(steps_of(server)[0]["metrics"]) == ["good"]
    assert len([record for record in caplog.records if "is left out" in record.message]) == 5


@pytest.mark.parametrize(
    "wrong",
    [
        {"step": -1},
        {"step": "one"},
        {"step": 2**60},
        {"global_batch_size": 0},
        {"num_tokens": -4},
        {"lr": "fast"},
        {"metrics": 7},
        {"schedule": {"token_cap": 4}},
        {"no_such_field": 1},
    ],
)
def test_a_step_that_is_none_raises_nothing_and_is_counted_and_told(
    server: IngestServer, make_recorder: MakeRecorder, wrong: dict[str, Any]
) -> None:
    recorder = make_recorder()
    recorder.log_step(**({"step": 0, "global_batch_size": 4} | wrong))
    log(recorder, 1)
    recorder.finish()
    assert recorder.num_dropped == 1
    assert [step["step"] for step in steps_of(server)] == [1]
    [event] = events_of(server)
    assert (event["kind"], event["data"]) == ("recorder.dropped", {"num_dropped": 1})


def test_a_server_that_is_away_holds_nobody_up_and_gets_all_of_it_later(make_recorder: MakeRecorder) -> None:
    before = IngestServer()
    recorder = make_recorder(before.url)
    log(recorder, 0)
    until(lambda: len(steps_of(before)) == 1)
    before.close()
    began = time.monotonic()
    log(recorder, *range(1, 1000), metrics={"train/loss": 1.0})
    assert time.monotonic() - began < 2.0
    after = IngestServer(before.port)
    assert recorder.finish()
    assert [step["step"] for step in steps_of(after)] == list(range(1, 1000))
    after.close()


def test_what_is_too_much_is_dropped_counted_and_told(server: IngestServer, make_recorder: MakeRecorder) -> None:
    server.answer = lambda request: problem(503)
    recorder = make_recorder(max_queued_steps=10)
    log(recorder, *range(25))
    assert recorder.num_dropped == 15
    server.answer = lambda request: Answer()
    assert recorder.finish()
    assert [step["step"] for step in steps_of(server)] == list(range(10))
    assert [event["data"]["num_dropped"] for event in events_of(server)][-1] == 15


def test_a_refused_step_is_counted_and_told_and_blocks_no_other(
    server: IngestServer, make_recorder: MakeRecorder
) -> None:
    def answer(request: Request) -> Answer:
        return problem(422) if 1 in [step["step"] for step in request.body.get("steps", [])] else Answer()

    server.answer = answer
    recorder = make_recorder()
    log(recorder, 0, 1, 2)
    assert recorder.finish()
    assert [step["step"] for step in steps_of(server)] == [0, 2]
    assert (recorder.num_refused, recorder.num_dropped) == (1, 0)
    assert [(event["kind"], event["data"]) for event in events_of(server)] == [("recorder.refused", {"step": 1})]


def test_heartbeats_tell_how_far_it_is(server: IngestServer, make_recorder: MakeRecorder) -> None:
    recorder = make_recorder(total_steps=40)
    log(recorder, 0, 1)
    recorder.activity("evaluating" + "!" * 500)
    until(lambda: any(beat.body["num_steps"] == 2 for beat in server.of("heartbeat")))
    beat = server.of("heartbeat")[-1].body
    assert beat["total_steps"] == 40
    assert beat["activity"].startswith("evaluating!")


def test_a_wish_to_stop_or_to_wait_is_seen(server: IngestServer, make_recorder: MakeRecorder) -> None:
    recorder = make_recorder()
    assert not recorder.should_stop
    server.answer = lambda request: wish("pause")
    until(lambda: recorder.should_pause)
    waiting = threading.Thread(target=recorder.wait_while_paused)
    waiting.start()
    until(lambda: any(beat.body["is_paused"] for beat in server.of("heartbeat")))
    server.answer = lambda request: wish("stop")
    waiting.join()
    assert recorder.should_stop
    recorder.finish()
    assert server.of("state")[0].body["outcome"] == "stopped"


def test_an_error_in_the_block_is_the_reason_with_its_traceback(
    server: IngestServer, make_recorder: MakeRecorder
) -> None:
    def train() -> None:
        with make_recorder() as recorder:
            log(recorder, 0)
            _ = 1 / 0

    with pytest.raises(ZeroDivisionError):
        train()
    state = server.of("state")[0].body
    assert state["outcome"] == "failed"
    assert state["reason"].startswith("ZeroDivisionError: division by zero\n\nTraceback")
    assert "_ = 1 / 0" in state["reason"]


def test_an_interrupted_block_has_stopped(server: IngestServer, make_recorder: MakeRecorder) -> None:
    with pytest.raises(KeyboardInterrupt), make_recorder():
        raise KeyboardInterrupt
    assert server.of("state")[0].body["outcome"] == "stopped"


def test_finishing_waits_no_longer_than_it_is_told_and_says_what_came_of_it(
    server: IngestServer, make_recorder: MakeRecorder, caplog: pytest.LogCaptureFixture
) -> None:
    server.answer = lambda request: problem(503)
    recorder = make_recorder()
    log(recorder, 0)
    began = time.monotonic()
    with caplog.at_level(logging.WARNING):
        assert not recorder.finish(timeout_s=0.2)
    assert time.monotonic() - began < 3.0
    assert "does not have everything" in caplog.text
    log(recorder, 1)
    assert recorder.num_dropped == 1
    assert not recorder.finish()


def test_a_fenced_recorder_stops_and_breaks_nothing(server: IngestServer, make_recorder: MakeRecorder) -> None:
    server.answer = lambda request: problem(409, "stale-attempt")
    recorder = make_recorder()
    until(lambda: recorder.should_stop)
    log(recorder, 0)
    assert not recorder.finish(timeout_s=0.1)


def test_what_a_journal_keeps_is_delivered_by_a_later_recorder(
    server: IngestServer, make_recorder: MakeRecorder, tmp_path: Path
) -> None:
    server.answer = lambda request: problem(503)
    first = make_recorder(journal=Journal(tmp_path / "steps.jsonl"))
    log(first, 0, 1)
    assert not first.finish(timeout_s=0.0)
    server.answer = lambda request: Answer()
    second = make_recorder(journal=Journal(tmp_path / "steps.jsonl"))
    until(lambda: bool(server.of("state")))
    assert [step["step"] for step in steps_of(server)] == [0, 1]
    assert second.num_dropped == 0


def test_a_forked_child_records_nothing_and_harms_nothing(server: IngestServer, make_recorder: MakeRecorder) -> None:
    recorder = make_recorder()
    log(recorder, 0)
    child = os.fork()
    if child == 0:
        # Whatever happens here must not reach pytest.
        code = 1
        try:
            log(recorder, 1)
            recorder.wait_while_paused()
            recorder.finish()
            code = 0
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    assert status == 0
    log(recorder, 2)
    assert recorder.finish()
    assert [step["step"] for step in steps_of(server)] == [0, 2]
    assert len(server.of("state")) == 1


def test_a_process_that_ends_without_a_word_has_sent_its_steps(server: IngestServer) -> None:
    script = """
import sys
from server.client.recording.attempt import RecordedAttempt
from server.client.recording.recorder import Recorder
recorder = Recorder(RecordedAttempt(server_url=sys.argv[1], run_id="run_1", number=1, ingest_token="secret"))
for step in range(5):
    recorder.log_step(step=step, global_batch_size=8)
"""
    subprocess.run([sys.executable, "-c", script, server.url], check=True, timeout=120)
    assert [step["step"] for step in steps_of(server)] == list(range(5))
    assert server.of("state") == []


def test_logging_a_step_takes_no_time(server: IngestServer, make_recorder: MakeRecorder) -> None:
    recorder = make_recorder()
    metrics = {f"metric/{i}": (0.5, 8) for i in range(20)}
    began = time.process_time()
    log(recorder, *range(200), metrics=metrics)
    assert (time.process_time() - began) / 200 < 0.01
    assert recorder.finish()
    assert len(steps_of(server)) == 200
