from __future__ import annotations

import pytest

from tests.drills.api_fuzz import Fuzzer
from tests.server.live_server import LiveServer

pytestmark = pytest.mark.stack


def test_odd_requests_get_answers_as_the_document_says(sqlite_server: LiveServer) -> None:
    fuzzer = Fuzzer(sqlite_server)
    fuzzer.run(5)
    assert not fuzzer.outcome.problems
    assert fuzzer.outcome.num_requests > 200
