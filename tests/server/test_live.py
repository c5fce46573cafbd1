from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from server.live.frames import merge_frames
from server.live.hub import LiveHub
from server.live.schemas import LogNews, StepsFrame
from tests.server.factories import metric, step_message
from tests.server.live_server import LiveServer
from tests.server.record_factories import checkpoint_message, iteration_message, log_line, post


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One event as a browser would see it."""

    id: str
    name: str
    data: Any


def frame(*steps: int, run: str = "r", attempt: int = 1, **metrics: Any) -> StepsFrame:
    x = tuple(float(step) for step in steps)
    return StepsFrame(
        run=run,
        attempt=attempt,
        step=steps,
        samples=x,
        tokens=x,
        time=x,
        relative=x,
        metrics={name: tuple(values) for name, values in metrics.items()},
    )


@contextmanager
def listening(server: LiveServer, **options: Any) -> Iterator[Iterator[Event]]:
    """The events of a stream, from the moment when it is open."""
    headers = {"Last-Event-ID": options.pop("last_event_id")} if "last_event_id" in options else {}
    with server.http.stream("GET", "/api/v1/events", params=options, headers=headers, timeout=10) as answer:
        assert answer.status_code == 200
        lines = answer.iter_lines()
        yield _parse(lines)


def _parse(lines: Iterator[str]) -> Iterator[Event]:
    fields: dict[str, str] = {}
    for line in lines:
        if line.startswith(":"):
            continue
        if line:
            name, _, value = line.partition(":")
            fields[name] = value.strip()
            continue
        if "data" in fields:
            yield Event(id=fields["id"], name=fields["event"], data=json.loads(fields["data"]))
        fields = {}


def test_merged_frames_hold_every_step_once_and_null_where_nothing_was_measured() -> None:
    merged = merge_frames([frame(0, 1, a=(1.0, 2.0)), frame(2, a=(3.0,), b=("NaN",))])
    assert merged.step == (0, 1, 2)
    assert merged.metrics == {"a": (1.0, 2.0, 3.0), "b": (None, None, "NaN")}


def test_frames_of_one_moment_are_one_event_per_attempt() -> None:
    async def play() -> list[bytes]:
        hub = LiveHub(lambda _: [])
        stream = hub.stream(runs=frozenset(), after=None)
        await anext(stream)
        hub.start(asyncio.get_running_loop())
        for step in range(5):
            hub.steps_recorded(frame(step, a=(float(step),)))
        hub.steps_recorded(frame(3, attempt=2, a=(9.0,)))
        events = [await anext(stream), await anext(stream)]
        hub.close()
        assert [event async for event in stream] == []
        return events

    first, second = asyncio.run(play())
    assert b'"step":[0,1,2,3,4]' in first
    assert b'"attempt":2' in second


def test_a_subscriber_that_falls_out_of_the_ring_is_told_to_ask_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("server.live.hub._MAX_ENTRIES", 3)
    monkeypatch.setattr("server.live.hub._FRAME_S", 0.0)

    async def play() -> bytes:
        hub = LiveHub(lambda _: [])
        slow = hub.stream(runs=frozenset(), after=None)
        await anext(slow)
        hub.start(asyncio.get_running_loop())
        for step in range(10):
            hub.steps_recorded(frame(step))
            await asyncio.sleep(0.005)
        event = await anext(slow)
        hub.close()
        return event

    assert b"event: resync" in asyncio.run(play())


def test_a_stream_that_nobody_reads_keeps_few_frames_from_being_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("server.live.hub._MAX_ENTRIES", 200)

    async def play() -> list[str]:
        hub = LiveHub(lambda _: [])
        for i in range(300):
            hub._append("steps", f"[{i}]", run="r")
        stalled = hub.stream(runs=frozenset(), after=hub._id(hub._sequence - 200))
        for _ in range(2):  # the id to resume from, and the first frame
            await anext(stalled)
        for i in range(300, 600):
            hub._append("steps", f"[{i}]", run="r")
        rest: list[str] = []
        while not rest or "resync" not in rest[-1]:
            rest.append((await anext(stalled)).decode())
        await stalled.aclose()
        return rest

    *kept, _ = asyncio.run(play())
    assert [json.loads(event.split("data: ")[1]) for event in kept] == [[i] for i in range(101, 101 + len(kept))]
    assert len(kept) < 32, "what it holds must not be the ring"


def test_too_much_at_once_is_a_resync_and_not_a_heap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("server.live.hub._MAX_PENDING_STEPS", 5)

    async def play() -> bytes:
        hub = LiveHub(lambda _: [])
        stream = hub.stream(runs=frozenset(), after=None)
        await anext(stream)
        for step in range(10):
            hub.steps_recorded(frame(step))
        hub.start(asyncio.get_running_loop())
        hub.steps_recorded(frame(11))
        event = await anext(stream)
        hub.close()
        return event

    assert b"event: resync" in asyncio.run(play())


@pytest.mark.stack
def test_a_stream_tells_steps_and_runs_as_they_are_recorded(server: LiveServer) -> None:
    run = server.launch()
    with listening(server) as events:
        server.record(run, step_message(0, metrics={"m": metric("NaN"), "n": metric(None)}))
        steps = next(event for event in events if event.name == "steps")
        told = next(event for event in events if event.name == "run")
    assert (steps.data["run"], steps.data["step"], steps.data["samples"]) == (run.id, [0], [4])
    assert (steps.data["metrics"]["m"], steps.data["metrics"]["n"]) == (["NaN"], [None])
    assert steps.data["metrics"]["global_batch_size"] == [4]
    assert (told.data["state"], told.data["num_steps"]) == ("running", 1)
    assert told.data == {key: value for key, value in server.get(f"/runs/{run.id}").items() if key in told.data}


@pytest.mark.stack
@pytest.mark.parametrize("by_header", [True, False])
def test_a_resumed_stream_tells_what_was_missed_exactly_once(sqlite_server: LiveServer, by_header: bool) -> None:
    run = sqlite_server.launch()
    seen: list[Event] = []
    with listening(sqlite_server) as events:
        for step in range(3):
            sqlite_server.record(run, step_message(step))
            seen.append(next(event for event in events if event.name == "steps"))
    dropped_at = seen[1]
    for step in range(3, 6):
        sqlite_server.record(run, step_message(step))
        time.sleep(0.15)  # a frame of its own
    resume = {"last_event_id": dropped_at.id} if by_header else {"cursor": dropped_at.id}
    steps: list[int] = []
    with listening(sqlite_server, **resume) as events:
        while len(steps) < 4:
            event = next(events)
            steps += event.data["step"] if event.name == "steps" else []
    assert steps == [2, 3, 4, 5]


@pytest.mark.stack
@pytest.mark.parametrize("stale", ["0badc0de-7", "nonsense", "-", "0badc0de-99999999999999999999"])
def test_an_id_of_another_epoch_gets_a_resync(sqlite_server: LiveServer, stale: str) -> None:
    with listening(sqlite_server, last_event_id=stale) as events:
        assert next(events).name == "resync"


@pytest.mark.stack
def test_a_stream_of_one_run_does_not_tell_of_others(sqlite_server: LiveServer) -> None:
    mine, other = sqlite_server.launch(), sqlite_server.launch()
    with listening(sqlite_server, run=mine.id) as events:
        sqlite_server.record(other, step_message(0))
        time.sleep(0.2)
        sqlite_server.record(mine, step_message(0))
        told: list[Event] = []
        while not told or told[-1].name != "steps":
            told.append(next(events))
    assert {event.data.get("run") or event.data["id"] for event in told} == {mine.id}


@pytest.mark.stack
def test_a_stream_of_many_steps_a_second_has_few_frames(sqlite_server: LiveServer) -> None:
    run = sqlite_server.launch()
    messages = [step_message(step) for step in range(40)]
    steps: list[int] = []
    num_frames = 0
    with listening(sqlite_server) as events:
        began = time.monotonic()
        writer = threading.Thread(target=lambda: [sqlite_server.record(run, message) for message in messages])
        writer.start()
        while len(steps) < 40:
            event = next(events)
            if event.name == "steps":
                steps += event.data["step"]
                num_frames += 1
        elapsed_s = time.monotonic() - began
        writer.join()
    assert steps == list(range(40))
    assert num_frames <= elapsed_s / 0.1 + 2


@pytest.mark.stack
def test_a_stream_needs_a_token(sqlite_server: LiveServer) -> None:
    answer = httpx.get(sqlite_server.url + "/api/v1/events", trust_env=False)
    assert answer.status_code == 401


@pytest.mark.stack
@pytest.mark.parametrize("end", ["revoked", "rotated"])
def test_a_stream_ends_with_its_token(sqlite_server: LiveServer, end: str) -> None:
    run = sqlite_server.launch()
    made = sqlite_server.http.post("/api/v1/tokens", json={"name": "tab", "access": "read"}).json()
    headers = {"Authorization": f"Bearer {made['token']}"}
    with httpx.stream("GET", f"{sqlite_server.url}/api/v1/events", headers=headers, trust_env=False) as answer:
        events = _parse(answer.iter_lines())
        sqlite_server.record(run, step_message(0))
        while next(events).name != "steps":
            pass
        if end == "revoked":
            assert sqlite_server.http.delete(f"/api/v1/tokens/{made['id']}").status_code == 204
        else:
            assert sqlite_server.http.post(f"/api/v1/tokens/{made['id']}/rotate").status_code == 200
        sqlite_server.record(run, step_message(1))
        assert [event.data for event in events if event.name == "steps"] == []
    with listening(sqlite_server) as others:
        sqlite_server.record(run, step_message(2))
        assert next(event for event in others if event.name == "steps").data["step"] == [2]
    assert sqlite_server.services.hub.num_streams <= 1


@pytest.mark.stack
def test_news_of_other_records_are_told_once_per_run_and_frame(server: LiveServer) -> None:
    run = server.launch()
    with listening(server) as events:
        post(server, run, "logs", *(log_line(i) for i in range(3)))
        post(server, run, "rollouts", iteration_message(0), iteration_message(1))
        post(server, run, "checkpoints", checkpoint_message(2))
        told: dict[str, Any] = {}
        while not {"event", "logs", "iteration", "checkpoint"} <= told.keys():
            event = next(events)
            told[event.name] = event.data
    newest = server.get(f"/runs/{run.id}/events")["items"][-1]["id"]
    assert told["event"] == {"run": run.id, "up_to": newest}
    assert told["logs"] == {"run": run.id, "up_to": server.get(f"/runs/{run.id}/logs")["next_after"], "num_lines": 3}
    assert told["iteration"] == {"run": run.id, "attempt": 1, "iteration": 1}
    assert told["checkpoint"] == {"run": run.id, "attempt": 1, "step": 2}


def test_news_of_one_frame_are_joined() -> None:
    async def play() -> bytes:
        hub = LiveHub(lambda _: [])
        stream = hub.stream(runs=frozenset(), after=None)
        await anext(stream)
        hub.start(asyncio.get_running_loop())
        for i in range(5):
            hub.tell(LogNews(run="r", up_to=i, num_lines=2))
        event = await anext(stream)
        hub.close()
        return event

    assert b'"up_to":4,"num_lines":10' in asyncio.run(play())


@pytest.mark.stack
def test_a_poll_tells_what_the_stream_tells_from_the_same_ids_on(sqlite_server: LiveServer) -> None:
    run, other = sqlite_server.launch(), sqlite_server.launch()
    with listening(sqlite_server) as events:
        sqlite_server.record(run, step_message(0))
        cursor = next(event for event in events if event.name == "steps").id
        sqlite_server.record(other, step_message(0))
        sqlite_server.record(run, step_message(1))
    steps: list[int] = []
    while not steps:
        page = sqlite_server.get("/events/poll", cursor=cursor, run=run.id, timeout_s=5)
        steps += [step for event in page["events"] if event["event"] == "steps" for step in event["data"]["step"]]
        cursor = page["cursor"]
    assert steps == [1]
    while page["events"]:
        began = time.monotonic()
        page = sqlite_server.get("/events/poll", cursor=page["cursor"], run=run.id, timeout_s=0.3)
    assert time.monotonic() - began >= 0.3
    assert sqlite_server.get("/events/poll")["events"] == []
    assert sqlite_server.get("/events/poll", cursor="0badc0de-7")["events"] == [{"event": "resync", "data": {}}]
