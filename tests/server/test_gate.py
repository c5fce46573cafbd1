from __future__ import annotations

import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from server.database.writer import Transaction
from server.http.gate import Gate
from server.http.problems import ProblemError
from tests.server.factories import step_message
from tests.server.live_server import running_server


def test_a_full_gate_says_when_to_come_again_and_lets_in_who_comes_later() -> None:
    gate = Gate(1)
    with gate.passing():
        with pytest.raises(ProblemError) as refused, gate.passing():
            pass
        assert (refused.value.status_code, refused.value.headers) == (429, {"Retry-After": "1"})
    with pytest.raises(ValueError, match="inside"), gate.passing():
        raise ValueError("inside")
    with gate.passing():
        pass


@pytest.mark.stack
def test_batches_beyond_the_bound_are_refused_until_one_is_stored(tmp_path: Path, database_url: str | None) -> None:
    release = threading.Event()

    def hold(_: Transaction) -> None:
        release.wait(30)

    with running_server(tmp_path, database_url=database_url, max_recording_batches=1) as live:
        run = live.launch()
        held = live.services.writer.submit(hold)
        with ThreadPoolExecutor(1) as pool:
            first = pool.submit(live.record, run, step_message(0))
            deadline = time.monotonic() + 20
            while live.services.writer.num_queued == 0:
                assert time.monotonic() < deadline
                time.sleep(0.01)
            refused = live.record(run, step_message(1))
            assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
            assert live.get(f"/runs/{run.id}/steps")["total"] == 0  # whoever reads is served
            release.set()
            assert first.result().status_code == 200
        held.result()
        assert live.record(run, step_message(1)).status_code == 200


@pytest.mark.stack
def test_bodies_that_never_arrive_leave_their_places_to_others(tmp_path: Path) -> None:
    with running_server(tmp_path, max_recording_batches=2, body_deadline_s=0.5) as live, ExitStack() as opened:
        run = live.launch()
        lines = (
            f"POST /api/v1/runs/{run.id}/steps:batch HTTP/1.1",
            f"Host: 127.0.0.1:{live.settings.port}",
            "Content-Type: application/json",
            f"Authorization: Bearer {run.token}",
            "Content-Length: 1000",
        )
        head = "\r\n".join(lines) + "\r\n\r\n{"
        for _ in range(2):
            slow = opened.enter_context(socket.create_connection(("127.0.0.1", live.settings.port), timeout=60))
            slow.sendall(head.encode())
            assert slow.recv(4096).startswith(b"HTTP/1.1 408 ")
        assert live.record(run, step_message(0)).status_code == 200
