from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from orchestrator.reporting import log_shipper
from orchestrator.reporting.log_shipper import LogShipper
from orchestrator.reporting.log_tail import LogTail
from tests.orchestrator.ingest_server import Answer, IngestServer, Request, problem, until

LINE = "2026-11-30T10:00:00+00:00 INFO {}\n"


@pytest.fixture
def server() -> Iterator[IngestServer]:
    server = IngestServer()
    yield server
    server.close()


@pytest.fixture
def told() -> list[tuple[str, str]]:
    """Progress."""
    return []


@pytest.fixture
def make_shipper(
    tmp_path: Path, server: IngestServer, told: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., LogShipper]]:
    monkeypatch.setattr(log_shipper, "_EVERY_S", 0.02)
    shippers: list[LogShipper] = []
    http = httpx.Client(trust_env=False)

    def make(url: str = server.url) -> LogShipper:
        shippers.append(
            LogShipper(
                LogTail(tmp_path),
                http=http,
                run_url=f"{url}/api/v1/runs/run_1",
                attempt=2,
                on_progress=lambda source, text: told.append((source, text)),
            )
        )
        return shippers[-1]

    yield make
    for shipper in shippers:
        shipper.close()
    http.close()


MakeShipper = Callable[[], LogShipper]


def texts(server: IngestServer) -> list[tuple[str, int, str]]:
    return [
        (line["source"], line["number"], line["text"])
        for request in server.of("logs:batch")
        for line in request.body["lines"]
    ]


def test_lines_of_all_files_arrive_and_those_that_come_later(
    tmp_path: Path, server: IngestServer, make_shipper: MakeShipper, told: list[tuple[str, str]]
) -> None:
    (tmp_path / "driver.log").write_text(LINE.format("a: first"))
    shipper = make_shipper()
    until(lambda: texts(server) == [("driver", 0, "a: first")])
    with (tmp_path / "rank-0.log").open("a") as log:
        log.write(LINE.format("progress: loading weights: 1 of 2 tensors"))
        log.write("a last word without an end")
    shipper.drain(10)
    assert texts(server)[1:] == [
        ("rank 0", 0, "progress: loading weights: 1 of 2 tensors"),
        ("rank 0", 1, "a last word without an end"),
    ]
    assert told == [("rank 0", "loading weights: 1 of 2 tensors")]
    assert {request.body["attempt"] for request in server.of("logs:batch")} == {2}


def test_a_server_that_is_away_gets_every_line_once_when_it_is_back(
    tmp_path: Path, server: IngestServer, make_shipper: MakeShipper
) -> None:
    server.answer = lambda request: problem(503)
    (tmp_path / "driver.log").write_text("".join(LINE.format(f"a: {i}") for i in range(1200)))
    shipper = make_shipper()
    until(lambda: len(server.requests) >= 2)
    server.answer = lambda request: Answer()
    shipper.drain(20)
    assert [number for _, number, _ in texts(server)] == list(range(1200))
    assert max(len(request.body["lines"]) for request in server.of("logs:batch")) == 500


def test_what_the_server_refuses_does_not_hold_up_the_rest(
    tmp_path: Path, server: IngestServer, make_shipper: MakeShipper
) -> None:
    def answer(request: Request) -> Answer:
        return problem(422) if request.body["lines"][0]["text"] == "bad" else Answer()

    server.answer = answer
    (tmp_path / "driver.log").write_text("bad\n")
    shipper = make_shipper()
    until(lambda: bool(server.requests))
    with (tmp_path / "driver.log").open("a") as log:
        log.write("good\n")
    shipper.drain(10)
    assert [text for *_, text in texts(server)] == ["good"]


@pytest.mark.parametrize("status", [401, 404])
def test_a_server_that_wants_no_logs_is_left_alone(
    tmp_path: Path, server: IngestServer, make_shipper: MakeShipper, status: int
) -> None:
    server.answer = lambda request: problem(status)
    (tmp_path / "driver.log").write_text("a\n")
    shipper = make_shipper()
    until(lambda: bool(server.requests))
    (tmp_path / "rank-0.log").write_text("b\n")
    shipper.drain(10)
    assert len(server.requests) == 1


def test_an_end_does_not_wait_for_a_server_that_is_away(
    tmp_path: Path, make_shipper: Callable[..., LogShipper]
) -> None:
    gone = IngestServer()
    url = gone.url
    gone.close()
    (tmp_path / "driver.log").write_text("a\n")
    shipper = make_shipper(url)
    shipper.drain(0.2)
    shipper.close()
