from __future__ import annotations

from pathlib import Path

import pytest

from tests.drills import locks

pytestmark = pytest.mark.stack


def test_writers_readers_and_exports_do_not_lock_each_other_out(tmp_path: Path, database_url: str | None) -> None:
    outcome = locks.drill(tmp_path / "home", seconds=3, database_url=database_url)
    assert not outcome.problems
    assert outcome.num_exports > 0
    assert len(outcome.acknowledged_s) > locks.NUM_WRITERS
