from __future__ import annotations

from typing import Any

import pytest

from tests.server.live_server import LaunchedRun, LiveServer
from tests.server.record_factories import log_line, post

pytestmark = pytest.mark.stack

LEVELS = ("debug", "info", "warning", "error")


@pytest.fixture
def server(shared_server: LiveServer) -> LiveServer:
    return shared_server


@pytest.fixture
def run(server: LiveServer) -> LaunchedRun:
    """A run with 40 lines of two sources and every level, beside another run with as many."""
    other, run = server.launch(), server.launch()
    for each in (other, run):
        lines = [log_line(i, f"line {i}", level=LEVELS[i % 4], source=f"rank {i % 2}") for i in range(40)]
        assert post(server, each, "logs", *lines).json()["accepted"] == 40
    return run


def texts(page: dict[str, Any]) -> list[int]:
    return [int(item["text"].removeprefix("line ")) for item in page["items"]]


def test_the_tail_comes_first_and_pages_lead_back_to_the_beginning(server: LiveServer, run: LaunchedRun) -> None:
    path = f"/runs/{run.id}/logs"
    page = server.get(path, limit=15)
    assert (texts(page), page["sources"], page["has_newer"]) == (list(range(25, 40)), ["rank 0", "rank 1"], False)
    seen = texts(page)
    while page["next_before"] is not None:
        page = server.get(path, limit=15, before=page["next_before"])
        seen = texts(page) + seen
    assert seen == list(range(40))


def test_new_lines_follow_from_where_the_tail_ended(server: LiveServer, run: LaunchedRun) -> None:
    path = f"/runs/{run.id}/logs"
    after = server.get(path, limit=5)["next_after"]
    assert server.get(path, after=after)["items"] == []
    post(server, run, "logs", *(log_line(i, f"line {i}") for i in range(100, 107)))
    page = server.get(path, after=after, limit=5)
    assert (texts(page), page["has_newer"]) == (list(range(100, 105)), True)
    page = server.get(path, after=page["next_after"], limit=5)
    assert (texts(page), page["has_newer"]) == ([105, 106], False)
    assert texts(server.get(path, before=page["next_before"], limit=2)) == [103, 104]


def test_levels_sources_attempts_and_texts_narrow_the_lines(server: LiveServer, run: LaunchedRun) -> None:
    path = f"/runs/{run.id}/logs"
    assert texts(server.get(path, level="error")) == list(range(3, 40, 4))
    assert texts(server.get(path, level="warning", source="rank 0")) == list(range(2, 40, 4))
    assert texts(server.get(path, q="LINE 3")) == [3, *range(30, 40)]
    assert server.get(path, q="%")["items"] == []
    second = server.next_attempt(run)
    post(server, second, "logs", log_line(0, "line 99"))
    assert texts(server.get(path, attempt=2)) == [99]
    assert len(server.get(path)["items"]) == 41


@pytest.mark.parametrize("backwards", [True, False])
def test_a_search_looks_at_a_bounded_part_and_goes_on_without_a_gap(
    server: LiveServer, run: LaunchedRun, monkeypatch: pytest.MonkeyPatch, backwards: bool
) -> None:
    monkeypatch.setattr("server.logs.queries._MAX_SEARCHED", 3)
    path, found, num_pages = f"/runs/{run.id}/logs", [], 0
    query: dict[str, int] = {} if backwards else {"after": 0}
    while True:
        page = server.get(path, source="rank 1", limit=2, **query)
        found += texts(page)
        num_pages += 1
        if backwards:
            if page["next_before"] is None:
                break
            query = {"before": page["next_before"]}
        else:
            if not page["has_newer"]:
                break
            query = {"after": page["next_after"]}
    assert sorted(found) == list(range(1, 40, 2))
    assert num_pages > 3


def test_a_place_is_either_before_or_after(server: LiveServer, run: LaunchedRun) -> None:
    answer = server.http.get(f"/api/v1/runs/{run.id}/logs", params={"before": 3, "after": 1})
    assert answer.status_code == 422
