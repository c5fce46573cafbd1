from __future__ import annotations

from pathlib import Path

import pytest

from tests.drills import large_history

pytestmark = pytest.mark.stack


def test_many_more_steps_cost_no_more_than_twice_as_much(tmp_path: Path) -> None:
    costs = large_history.drill(tmp_path / "home", small=10_000, large=60_000, repeats=10, max_points=100)
    assert not [cost for cost in costs if cost.is_too_much]
