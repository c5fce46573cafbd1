from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest

from bench.filled_tables import NAME
from tests.drills.database_work import DatabaseWork
from tests.drills.large_history import CATALOGUE, MAX_RATIO, fill, questions
from tests.server.live_server import running_server

pytestmark = pytest.mark.stack
SMALL, LARGE, MAX_POINTS = 10_000, 60_000, 100


def test_many_more_steps_are_no_more_than_twice_the_work(tmp_path: Path) -> None:
    with running_server(tmp_path) as live:
        runs = {num_steps: live.launch(name=str(num_steps)) for num_steps in (SMALL, LARGE)}
        headers = live.http.headers
        with httpx.Client(base_url=f"{live.url}/api/v1", headers=headers, trust_env=False, timeout=60) as http:
            for num_steps, run in runs.items():
                fill(live.services.database, http, run, num_steps=num_steps)
            work = DatabaseWork(live.services.database.read_engine)

            def instructions(path: str, query: dict[str, Any]) -> int:
                return work.of(lambda: http.get(path, params=query).raise_for_status())

            few, many = (
                {name: instructions(*question) for name, question in questions(run.id, num_steps, MAX_POINTS)}
                for num_steps, run in runs.items()
            )
            points = {"run": runs[LARGE].id, "name": NAME, "agg": "none", "from": 0, "to": SMALL, "max_points": SMALL}
            point_by_point = instructions("/metrics/query", points)
    judged = few.keys() - {CATALOGUE}
    assert not {name: (few[name], many[name]) for name in judged if many[name] > MAX_RATIO * few[name]}
    # What is counted does grow with the rows that are read.
    assert point_by_point > SMALL > max(many[name] for name in judged)
