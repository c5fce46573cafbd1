"""A training loop that is not Swell's own, recorded by a real server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.contracts.run_state import RunState
from server.client import SwellClient, SwellError, deliver_journal, plain_schedule
from server.client.recording.recorder import Recorder
from tests.orchestrator.ingest_server import until
from tests.server.live_server import LiveServer, running_server

TOKENS = (5, 9, 4, 7, 3)


@pytest.fixture
def client(sqlite_server: LiveServer) -> Iterator[SwellClient]:
    token = sqlite_server.settings.token_path.read_text().strip()
    with SwellClient(url=sqlite_server.url, token=token) as client:
        yield client


def log(recorder: Recorder, *steps: int, loss: float = 1.0) -> None:
    for step in steps:
        size = 2 + step % 4
        recorder.log_step(
            step=step,
            global_batch_size=size,
            metrics={"train/loss": (loss / (1 + step), size), "reward/mean": None},
            lr=1e-3,
            schedule=plain_schedule(
                [[[0]], [list(range(1, size))]],
                num_tokens=TOKENS[:size],
                step=step,
                # As a loop that pads to its longest sequence has it.
                num_positions=[[TOKENS[0]], [max(TOKENS[:size]) * (size - 1)]],
            ),
        )


def test_a_run_is_recorded_with_sizes_schedules_and_metrics(client: SwellClient) -> None:
    config = {"lr": 1e-3, "path": Path("data"), "odd": float("nan"), "api_key": "hunter2"}
    with client.start_external(name="mine", config=config, tags={"task": "x"}, total_steps=6) as recorder:
        log(recorder, *range(6))
        until(lambda: client.show("mine").state is RunState.RUNNING)
    run = client.show("mine")
    assert (run.kind, run.state, run.num_steps, run.tags) == ("external", "succeeded", 6, {"task": "x"})
    assert run.config is not None
    assert (run.config["path"], run.config["odd"]) == ("data", None)
    assert "hunter2" not in json.dumps(run.config)
    assert run.batch_sizes == (2, 3, 4, 5, 2, 3)
    [series] = client.metrics("mine", "train/loss", x="samples").series
    assert series.x == (2, 5, 9, 14, 16, 19)
    assert series.weight[:3] == (2, 3, 4)
    schedule = client.schedule("mine", 3)
    assert schedule.certificate.holds
    assert schedule.schedule.micro_batches == (((0,),), ((1, 2, 3, 4),))
    assert client.step("mine", 3).num_tokens == sum(TOKENS)
    computed = TOKENS[0] + 4 * max(TOKENS)
    assert client.step("mine", 3).padding_frac == pytest.approx(1 - sum(TOKENS) / computed)
    assert recorder.url.endswith(run.id)


def test_a_loop_that_tells_only_sizes_is_recorded_too(client: SwellClient) -> None:
    with client.start_external(name="bare") as recorder:
        recorder.log_step(step=0, global_batch_size=3)
        recorder.log_step(step=1, global_batch_size=7, metrics={"loss": float("nan")})
    assert recorder.num_refused == 0
    assert [row.global_batch_size for row in client.steps("bare")] == [3, 7]
    [series] = client.metrics("bare", "loss").series
    assert [point.value for point in series.non_finite] == ["NaN"]


def test_an_error_fails_the_run_with_its_traceback(client: SwellClient) -> None:
    def train() -> None:
        with client.start_external(name="broken") as recorder:
            log(recorder, 0)
            raise RuntimeError("the tokenizer is gone")

    with pytest.raises(RuntimeError):
        train()
    run = client.show("broken")
    assert run.state is RunState.FAILED
    assert run.reason is not None
    assert run.reason.startswith("RuntimeError: the tokenizer is gone\n\nTraceback")


def test_a_cancelled_run_is_told_so_and_has_stopped(client: SwellClient) -> None:
    with client.start_external(name="cancelled") as recorder:
        log(recorder, 0)
        until(lambda: client.show("cancelled").state is RunState.RUNNING)
        client.cancel("cancelled")
        until(lambda: recorder.should_stop)
    assert client.show("cancelled").state is RunState.CANCELLED


def test_a_run_goes_on_with_its_next_attempt_and_fences_off_the_first(client: SwellClient) -> None:
    first = client.start_external(name="again")
    log(first, 0, 1, 2)
    assert first.flush()
    with client.resume_external("again") as second:
        log(second, 2, 3, loss=2.0)
        log(first, 3)
        until(lambda: first.should_stop)
    first.close()
    run = client.show("again")
    assert (run.state, run.attempt) == (RunState.SUCCEEDED, 2)
    assert [(row.step, row.attempt) for row in client.steps("again")] == [(0, 1), (1, 1), (2, 2), (3, 2)]


def test_what_a_dead_process_left_in_its_journal_is_delivered_later(client: SwellClient, tmp_path: Path) -> None:
    recorder = client.start_external(name="durable", journal=tmp_path / "journal")
    assert (tmp_path / "journal" / "recorder.json").stat().st_mode & 0o777 == 0o600
    assert recorder.flush()
    # What a process leaves that ends right after it has written.
    recorder._sender.end()
    recorder._thread.join()
    log(recorder, 0, 1)
    recorder._backlog.write_out()
    recorder.close()
    assert client.show("durable").num_steps == 0
    assert deliver_journal(tmp_path / "journal")
    assert client.show("durable").num_steps == 2


def test_a_server_that_restarts_gets_everything(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with running_server(home) as before:
        port = before.settings.port
        token = before.settings.token_path.read_text().strip()
        client = SwellClient(url=before.url, token=token, max_retries=0)
        recorder = client.start_external(name="restart")
        log(recorder, 0, 1)
        assert recorder.flush()
    log(recorder, 2, 3)
    with running_server(home, port=port) as after, client:
        assert recorder.finish()
        assert after.settings.port == port
        assert [row.step for row in client.steps("restart")] == [0, 1, 2, 3]
        assert client.show("restart").state is RunState.SUCCEEDED


def test_a_run_that_cannot_be_made_is_told_at_once(client: SwellClient) -> None:
    with pytest.raises(SwellError) as caught:
        client.start_external(name=" ")
    assert "/name" in caught.value.pointers
    with pytest.raises(SwellError):
        client.resume_external("nobody")


def test_samples_that_are_not_all_placed_are_no_schedule() -> None:
    with pytest.raises(ValueError, match="place 1 samples; they must place each of the 2"):
        plain_schedule([[[0]]], num_tokens=[5, 6], step=0)
    with pytest.raises(ValueError, match=r"\[1, 2\] micro-batches"):
        plain_schedule([[[0]], [[1], []]], num_tokens=[5, 6], step=0)
