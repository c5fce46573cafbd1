from __future__ import annotations

from pathlib import Path

import pytest

from tests.drills import streams
from tests.server.cases import case

pytestmark = pytest.mark.stack


def test_streams_that_nobody_reads_hold_up_nobody(tmp_path: Path) -> None:
    num_streams = case("server.json", "sigterm-with-streams")["given"]["open_streams"]
    outcome = streams.drill(tmp_path / "home", seconds=4, num_streams=num_streams)
    assert not outcome.problems
