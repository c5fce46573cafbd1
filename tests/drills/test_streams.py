from __future__ import annotations

from pathlib import Path

import pytest

from tests.drills import streams
from tests.server.cases import case

pytestmark = pytest.mark.stack


def test_streams_that_nobody_reads_hold_up_nobody(tmp_path: Path) -> None:
    num_streams = case("server.json", "sigterm-with-streams")["given"]["open_streams"]
    # How long the end takes is for the drill that is run by hand: here other tests share the machine.
    outcome = streams.drill(tmp_path / "home", seconds=4, num_streams=num_streams, max_end_s=60)
    assert not outcome.problems
