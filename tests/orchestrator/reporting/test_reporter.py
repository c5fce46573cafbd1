from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import orjson
import pytest

from orchestrator.reporting.journal import Journal
from orchestrator.reporting.reporter import JournalReporter
from tests.orchestrator.ingest_server import Answer, IngestServer, Request, problem, until, wish
from tests.orchestrator.run_factories import checkpoint, event, state_report

MakeReporter = Callable[..., JournalReporter]


@pytest.fixture
def server() -> Iterator[IngestServer]:
    server = IngestServer()
    yield server
    server.close()


@pytest.fixture
def make_reporter(tmp_path: Path, server: IngestServer) -> Iterator[MakeReporter]:
    reporters: list[JournalReporter] = []

    def make(url: str = server.url) -> JournalReporter:
        reporters.append(
            JournalReporter(
                journal=Journal(tmp_path / "attempt.jsonl"), server_url=url, run_id="run_1", attempt=1, token="secret"
            )
        )
        return reporters[-1]

    yield make
    for reporter in reporters:
        reporter.close()


def of_records(answer: Callable[[Request], Answer]) -> Callable[[Request], Answer]:
    """Heartbeats are taken; records get `answer`."""
    return lambda request: Answer() if request.path.endswith("/heartbeat") else answer(request)


def in_turn(*answers: Answer) -> Callable[[Request], Answer]:
    """One answer after the other to records, then 200."""
    left = list(answers)
    return of_records(lambda request: left.pop(0) if left else Answer())


def test_everything_arrives_in_order_with_the_token_and_the_attempt(
    server: IngestServer, make_reporter: MakeReporter
) -> None:
    reporter = make_reporter()
    for i in range(5):
        reporter.event(event(f"e{i}"))
    reporter.finish(state_report())
    assert server.taken_keys() == [f"e{i}" for i in range(5)]
    assert server.taken[-1].path == "/api/v1/runs/run_1/state"
    assert {request.authorization for request in server.requests} == {"Bearer secret"}
    assert {request.body["attempt"] for request in server.requests} == {1}


def test_heartbeats_say_what_the_driver_is_at(server: IngestServer, make_reporter: MakeReporter) -> None:
    reporter = make_reporter()
    reporter.activity("generating" + "!" * 500, num_steps=3, total_steps=9)
    until(lambda: any(beat.body["num_steps"] == 3 for beat in server.of("heartbeat")))
    beat = server.of("heartbeat")[-1].body
    assert beat["activity"].startswith("generating!")
    assert beat["total_steps"] == 9


@pytest.mark.parametrize(
    "first", [problem(500), problem(503), Answer(status=0), Answer(body={"hello": "proxy"}), problem(408)]
)
def test_a_server_that_fails_gets_the_record_again(
    server: IngestServer, make_reporter: MakeReporter, first: Answer
) -> None:
    server.answer = in_turn(first, first)
    reporter = make_reporter()
    reporter.event(event("a"))
    reporter.finish(state_report())
    assert server.taken_keys()[-1] == "a"
    assert len([request for request in server.requests if request.path.endswith("events:batch")]) == 3


def test_records_wait_for_a_server_that_is_away(tmp_path: Path, make_reporter: MakeReporter) -> None:
    before = IngestServer()
    port = before.port
    reporter = make_reporter(before.url)
    reporter.event(event("a"))
    until(lambda: before.taken_keys() == ["a"])
    before.close()
    for name in ("b", "c"):
        reporter.event(event(name))
    after = IngestServer(port)
    reporter.finish(state_report())
    assert after.taken_keys() == ["b", "c"]
    assert len(after.of("state")) == 1
    after.close()


def test_a_new_life_sends_what_the_last_one_left(server: IngestServer, make_reporter: MakeReporter) -> None:
    server.answer = of_records(lambda request: problem(503))
    first = make_reporter()
    first.event(event("a"))
    until(lambda: any(request.path.endswith("events:batch") for request in server.requests))
    first.close()
    server.answer = lambda request: Answer()
    second = make_reporter()
    second.event(event("b"))
    second.finish(state_report())
    assert server.taken_keys() == ["a", "b"]


def test_retry_after_is_honoured(server: IngestServer, make_reporter: MakeReporter) -> None:
    server.answer = in_turn(problem(429, **{"Retry-After": "1"}))
    reporter = make_reporter()
    reporter.event(event("a"))
    reporter.finish(state_report())
    first, second = [request.at_s for request in server.requests if request.path.endswith("events:batch")]
    assert second - first >= 1.0


@pytest.mark.parametrize("refusal", [problem(422), problem(400), problem(409, "conflicting-duplicate")])
def test_a_refused_record_stays_in_the_journal_and_blocks_no_other(
    tmp_path: Path, server: IngestServer, make_reporter: MakeReporter, refusal: Answer
) -> None:
    def answer(request: Request) -> Answer:
        keys = [event["key"] for event in request.body.get("events", [])]
        return refusal if "bad" in keys else Answer()

    server.answer = of_records(lambda request: problem(503))
    reporter = make_reporter()
    for name in ("a", "bad", "c"):
        reporter.event(event(name))
    server.answer = answer
    reporter.finish(state_report())
    assert server.taken_keys() == ["a", "c"]
    lines = [orjson.loads(line) for line in (tmp_path / "attempt.jsonl").read_bytes().splitlines()]
    [refused] = [line["body"] for line in lines if line["kind"] == "refused"]
    assert refused["kind"] == "event"
    assert refused["reason"].startswith(str(refusal.status))


def test_a_refused_last_record_does_not_hold_the_driver(server: IngestServer, make_reporter: MakeReporter) -> None:
    server.answer = of_records(lambda request: problem(422))
    make_reporter().finish(state_report())


def test_a_wish_to_stop_is_heard_in_any_answer(server: IngestServer, make_reporter: MakeReporter) -> None:
    server.answer = lambda request: wish("stop")
    reporter = make_reporter()
    until(lambda: reporter.stop_requested)
    reporter.finish(state_report(outcome="stopped"))
    assert server.of("state")[0].body["outcome"] == "stopped"


def test_a_paused_driver_waits_says_so_and_goes_on(server: IngestServer, make_reporter: MakeReporter) -> None:
    reporter = make_reporter()
    reporter.wait_while_paused()
    server.answer = lambda request: wish("run" if request.body.get("is_paused") else "pause")
    reporter.event(event("a"))
    until(lambda: reporter.pause_requested)
    reporter.wait_while_paused()
    assert any(beat.body["is_paused"] for beat in server.of("heartbeat"))
    server.answer = lambda request: wish("run")
    until(lambda: not server.of("heartbeat")[-1].body["is_paused"])
    assert not reporter.stop_requested


def test_a_wish_to_stop_ends_a_pause_for_good(server: IngestServer, make_reporter: MakeReporter) -> None:
    server.answer = lambda request: wish("stop" if request.body.get("is_paused") else "pause")
    reporter = make_reporter()
    until(lambda: reporter.pause_requested)
    reporter.wait_while_paused()
    server.answer = lambda request: wish("run")
    reporter.event(event("a"))
    until(lambda: server.taken_keys() == ["a"])
    assert reporter.stop_requested


def test_a_server_that_does_not_know_checkpoints_yet_gets_everything_else(
    server: IngestServer, make_reporter: MakeReporter
) -> None:
    server.answer = lambda request: (
        problem(404, "not-found") if request.path.endswith("checkpoints:batch") else Answer()
    )
    reporter = make_reporter()
    reporter.checkpoint(checkpoint())
    reporter.event(event("a"))
    reporter.finish(state_report())
    assert not reporter.stop_requested
    assert server.taken_keys() == ["a"]
    assert len(server.of("state")) == 1


def test_a_run_that_is_gone_stops(server: IngestServer, make_reporter: MakeReporter) -> None:
    server.answer = lambda request: problem(404, "not-found")
    reporter = make_reporter()
    reporter.checkpoint(checkpoint())
    until(lambda: reporter.stop_requested)


@pytest.mark.parametrize("endpoint", ["heartbeat", "events:batch"])
def test_an_attempt_that_is_fenced_off_stops(server: IngestServer, make_reporter: MakeReporter, endpoint: str) -> None:
    server.answer = lambda request: problem(409, "stale-attempt") if request.path.endswith(endpoint) else Answer()
    reporter = make_reporter()
    reporter.event(event("a"))
    until(lambda: reporter.stop_requested)
    reporter.finish(state_report())
    assert server.of("state") == []


def test_steps_and_events_keep_their_order_across_kinds(server: IngestServer, make_reporter: MakeReporter) -> None:
    from tests.orchestrator.run_factories import small_step

    server.answer = in_turn(problem(503))
    reporter = make_reporter()
    reporter.event(event("a"))
    reporter.step(small_step(0))
    reporter.step(small_step(1))
    reporter.event(event("b"))
    reporter.finish(state_report())
    records = [request for request in server.taken if not request.path.endswith("heartbeat")]
    assert [request.path.rsplit("/")[-1] for request in records] == [
        "events:batch",
        "steps:batch",
        "events:batch",
        "state",
    ]
    assert [step["step"] for step in records[1].body["steps"]] == [0, 1]
