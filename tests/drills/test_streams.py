from __future__ import annotations

from pathlib import Path

import pytest

from tests.drills import streams

pytestmark = pytest.mark.stack


def test_streams_that_nobody_reads_hold_up_nobody(tmp_path: Path) -> None:
    outcome = streams.drill(tmp_path / "home", seconds=5)
    assert not outcome.problems
