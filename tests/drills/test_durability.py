from __future__ import annotations

from pathlib import Path

import pytest

from tests.drills import durability
from tests.server.cases import case

pytestmark = pytest.mark.stack


def test_what_was_answered_outlives_kills(tmp_path: Path, database_url: str | None) -> None:
    assert case("server.json", "kill-9-server")["given"]["writers"] == durability.NUM_WRITERS
    outcome = durability.drill(tmp_path / "home", kills=2, database_url=database_url)
    assert not outcome.problems
    assert outcome.answered_steps > 0
