from __future__ import annotations

import pytest

from server.runs.clone_name import next_name
from tests.server.live_server import LiveServer


@pytest.mark.parametrize(
    ("name", "following"),
    [("demo", "demo-2"), ("demo-2", "demo-3"), ("qwen3-4b", "qwen3-4b-2"), ("a-0", "a-0-2"), ("d", "d-4")],
)
def test_a_clone_is_called_after_its_parent_by_the_next_free_number(name: str, following: str) -> None:
    assert next_name(name, {"d", "d-2", "d-3", "d-5"}) == following


def test_a_name_with_a_number_is_no_longer_than_names_may_be() -> None:
    assert next_name("x" * 200) == "x" * 198 + "-2"
    assert next_name("x" * 198 + "-9") == "x" * 197 + "-10"


def test_the_name_that_is_proposed_is_the_one_that_a_clone_gets(sqlite_server: LiveServer) -> None:
    parent = sqlite_server.submit(name="demo")
    sqlite_server.submit(name="demo-2")
    path = f"/api/v1/runs/{parent}"
    assert sqlite_server.http.get(f"{path}/clone-name").json() == {"name": "demo-3"}
    assert sqlite_server.http.get(f"{path}/clone-name").json() == {"name": "demo-3"}
    assert sqlite_server.http.post(f"{path}/clone").json()["name"] == "demo-3"
    assert sqlite_server.http.get("/api/v1/runs/none/clone-name").status_code == 404


def test_the_server_names_a_clone_that_its_request_does_not_name(sqlite_server: LiveServer) -> None:
    parent = sqlite_server.submit(name="50%_x")
    names = [sqlite_server.http.post(f"/api/v1/runs/{parent}/clone").json()["name"] for _ in range(2)]
    assert names == ["50%_x-2", "50%_x-3"]
    same = sqlite_server.http.post(f"/api/v1/runs/{parent}/clone", json={"changes": {"name": "50%_x"}}).json()
    assert same["name"] == same["spec"]["name"] == "50%_x"
    long = sqlite_server.submit(name="y" * 200)
    names = [sqlite_server.http.post(f"/api/v1/runs/{long}/clone").json()["name"] for _ in range(2)]
    assert names == ["y" * 198 + "-2", "y" * 198 + "-3"]
