from __future__ import annotations

import pytest

from tests.server.engine_events import counted
from tests.server.factories import step_message
from tests.server.live_server import LiveServer

pytestmark = pytest.mark.stack


@pytest.fixture
def server(shared_server: LiveServer) -> LiveServer:
    return shared_server


def test_steps_can_be_asked_for_by_phase(server: LiveServer) -> None:
    run = server.launch()
    server.record(run, *(step_message(step, phase="warm_start" if step < 3 else "rl") for step in range(5)))
    page = server.get(f"/runs/{run.id}/steps", phase="rl", limit=1)
    assert [(step["step"], step["phase"]) for step in page["items"]] == [(3, "rl")]
    assert page["next_from"] == 4
    assert [step["step"] for step in server.get(f"/runs/{run.id}/steps", phase="warm_start")["items"]] == [0, 1, 2]


def test_the_total_is_of_the_phase_that_was_asked_for_whatever_the_page(server: LiveServer) -> None:
    run = server.launch()
    server.record(run, *(step_message(step, phase="warm_start" if step < 3 else "rl") for step in range(5)))
    # From step 2 on, the newer attempt counts.
    server.record(server.next_attempt(run), *(step_message(step, phase="rl") for step in (2, 3)))
    for filter_, total in (({}, 4), ({"phase": "warm_start"}, 2), ({"phase": "rl"}, 2)):
        for place in ({}, {"from": 3}):
            assert server.get(f"/runs/{run.id}/steps", limit=1, **filter_, **place)["total"] == total


def test_steps_are_counted_only_where_a_phase_is_asked_for(server: LiveServer) -> None:
    run = server.launch()
    server.record(run, step_message(0))
    with counted(server.services.database.read_engine, "before_cursor_execute") as statements:
        server.get(f"/runs/{run.id}/steps")
        assert not any("count(" in statement for statement in statements)
        server.get(f"/runs/{run.id}/steps", phase="rl")
        assert sum("count(" in statement for statement in statements) == 1
