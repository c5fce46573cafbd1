from __future__ import annotations

import pytest

from tests.drills import races
from tests.server.live_server import LiveServer

pytestmark = pytest.mark.stack


def test_requests_that_meet_end_in_one_state(server: LiveServer) -> None:
    problems, states = races.cancel_against_finish(server, rounds=9)
    assert not problems
    assert states.total() == 9
    assert not races.launch_against_cancel(server, rounds=5)
    assert not races.equal_posts(server, rounds=1)
    assert not races.delete_against_record(server, rounds=5)
