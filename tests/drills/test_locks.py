from __future__ import annotations

from pathlib import Path

import pytest

from tests.drills import locks
from tests.server.cases import case

pytestmark = pytest.mark.stack


def test_writers_readers_and_exports_do_not_lock_each_other_out(tmp_path: Path, database_url: str | None) -> None:
    given = case("server.json", "locking")["given"]
    assert (given["writers"], given["readers"]) == (locks.NUM_WRITERS, locks.NUM_READERS)
    outcome = locks.drill(tmp_path / "home", seconds=2, database_url=database_url)
    assert not outcome.problems
    assert outcome.num_exports > 0
    assert len(outcome.acknowledged_s) > locks.NUM_WRITERS
