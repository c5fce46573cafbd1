from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
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
