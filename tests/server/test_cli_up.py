"""What `swell down` takes for active, without a server."""

from __future__ import annotations

from typing import Any, cast

from orchestrator.contracts.run_state import RunState
from server.cli.up import _active_jobs
from server.client.client import SwellClient
from server.runs.records import RunKind
from server.runs.schemas import RunPage
from tests.server.test_client_watch import a_run


class ListedRuns:
    """Lists a managed and an external run, whatever is asked."""

    def runs(self, **_: Any) -> RunPage:
        managed = a_run(RunState.RUNNING)
        external = managed.model_copy(update={"kind": RunKind.EXTERNAL, "name": "elsewhere"})
        return RunPage(items=(managed, external), next_cursor=None, total=2, by_state={})


def test_a_run_that_another_framework_trains_keeps_no_server_up() -> None:
    assert [run.name for run in _active_jobs(cast("SwellClient", ListedRuns()))] == ["demo"]
