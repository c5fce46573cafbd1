"""What `swell down` takes for active, and what it tells to have ended, without a server."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import psutil
import pytest

from orchestrator.contracts.run_state import RunState
from server.cli.up import _active_jobs, _end_both
from server.client.client import SwellClient
from server.client.server_record import ServerRecord
from server.runs.records import RunKind
from server.runs.schemas import RunPage
from server.supervisor.ray_head import HeadRecord
from tests.server.test_client_watch import a_run


class ListedRuns:
    """Lists a managed and an external run, whatever is asked."""

    def runs(self, **_: Any) -> RunPage:
        managed = a_run(RunState.RUNNING)
        external = managed.model_copy(update={"kind": RunKind.EXTERNAL, "name": "elsewhere"})
        return RunPage(items=(managed, external), next_cursor=None, total=2, by_state={})


def test_a_run_that_another_framework_trains_keeps_no_server_up() -> None:
    assert [run.name for run in _active_jobs(cast("SwellClient", ListedRuns()))] == ["demo"]


_ENDS_THE_HEAD = """
import pathlib, psutil, signal, sys
signal.signal(signal.SIGTERM, lambda *_: (psutil.Process(int(sys.argv[1])).kill(), sys.exit()))
print("ready", flush=True)
signal.pause()
"""


@pytest.mark.parametrize("has_head", [True, False])
def test_a_head_that_the_server_takes_along_is_told_of(tmp_path: Path, has_head: bool) -> None:
    with subprocess.Popen(["sleep", "60"]) as head:
        if has_head:
            _remember_head(tmp_path, head.pid)
        server = subprocess.Popen([sys.executable, "-c", _ENDS_THE_HEAD, str(head.pid)], stdout=subprocess.PIPE)
        with server:
            assert server.stdout is not None
            server.stdout.readline()
            created = psutil.Process(server.pid).create_time()
            assert _end_both(ServerRecord(pid=server.pid, create_time=created, url="http://h"), tmp_path) is has_head


def _remember_head(home: Path, pid: int) -> None:
    record = HeadRecord(
        head_id="none-such",
        pid=pid,
        create_time=psutil.Process(pid).create_time(),
        dashboard_url="http://127.0.0.1:1",
        temp_dir=str(home / "ray"),
    )
    (home / "ray-head.json").write_text(record.model_dump_json())
