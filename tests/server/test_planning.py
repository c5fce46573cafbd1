from __future__ import annotations

from typing import Any

import pytest

from orchestrator.contracts.messages import Phase
from tests.server.factories import spec_json, step_message
from tests.server.live_server import LiveServer

pytestmark = pytest.mark.stack


def plan(server: LiveServer, **request: Any) -> Any:
    answer = server.http.post("/api/v1/plan", json={"spec": spec_json()} | request)
    assert answer.status_code == 200, answer.text
    return answer.json()


def refusals(server: LiveServer, **request: Any) -> list[str]:
    answer = server.http.post("/api/v1/plan", json={"spec": spec_json()} | request)
    assert answer.status_code == 422, answer.text
    return [error["pointer"] for error in answer.json()["errors"]]


def test_a_plan_tells_every_step_and_starts_nothing(server: LiveServer) -> None:
    spec = spec_json(iterations=5, batch={"type": "fixed", "global_batch_size": 8})
    told = plan(server, spec=spec, lengths={"type": "constant", "num_tokens": 10})
    assert [step["global_batch_size"] for step in told["steps"]] == [8] * 10
    assert (told["num_steps"], told["num_samples"], told["num_tokens_expected"], told["dp"]) == (10, 80, 800, 2)
    assert told["steps"][0]["geometry"]["num_tokens"] == 80
    assert server.get("/runs")["total"] == 0


def test_whoever_may_read_may_plan(sqlite_server: LiveServer) -> None:
    token = sqlite_server.http.post("/api/v1/tokens", json={"name": "viewer", "access": "read"}).json()["token"]
    headers = {"Authorization": f"Bearer {token}"}
    assert sqlite_server.http.post("/api/v1/plan", json={"spec": spec_json()}, headers=headers).status_code == 200


@pytest.mark.parametrize(
    ("change", "pointers"),
    [
        ({"batch": {"type": "fixed", "global_batch_size": 0}}, ["/spec/batch/global_batch_size"]),
        (
            {"batch": {"type": "fixed", "global_batch_size": 99, "remainder": "drop"}},
            ["/spec/batch/global_batch_size", "/spec/data/rollout_batch_size", "/spec/rollout/group_size"],
        ),
        ({"model": {"type": "huggingface", "path": "/nowhere"}}, ["/spec/model/path"]),
    ],
)
def test_an_impossible_spec_is_refused_with_the_fields_to_change(
    sqlite_server: LiveServer, change: dict[str, Any], pointers: list[str]
) -> None:
    assert refusals(sqlite_server, spec=spec_json(**change)) == pointers


def test_lengths_of_an_earlier_run_are_those_of_its_steps_of_reinforcement(server: LiveServer) -> None:
    run = server.launch(name="earlier")
    server.record(
        run,
        step_message(0, lengths=(60, 60), phase=Phase.WARM_START, num_generated=0, num_filtered=0),
        *(step_message(i, lengths=(11, 11, 11)) for i in range(1, 4)),
    )
    told = plan(server, lengths={"type": "run", "run": "earlier"})
    assert told["num_tokens_expected"] == told["num_samples"] * 11
    assert "9 samples" in " ".join(told["assumptions"])


def test_lengths_come_from_the_newest_steps_and_not_from_superseded_ones(server: LiveServer) -> None:
    run = server.launch()
    server.record(run, *(step_message(i, lengths=(50, 50)) for i in range(4)))
    server.record(server.next_attempt(run), *(step_message(i, lengths=(20, 20)) for i in range(2)))
    assert plan(server, lengths={"type": "run", "run": run.id})["num_tokens_expected"] == 48 * 20


@pytest.mark.parametrize("name", ["no such run", "run_01M8NAYV0TEZ2FWP342TGA8377", "without steps"])
def test_a_run_without_lengths_is_named(server: LiveServer, name: str) -> None:
    server.submit(name="without steps")
    assert refusals(server, lengths={"type": "run", "run": name}) == ["/lengths/run"]


def test_a_million_lengths_are_taken_and_one_more_is_refused(sqlite_server: LiveServer) -> None:
    told = plan(sqlite_server, lengths={"type": "list", "num_tokens": [7] * 1_000_000})
    assert told["num_tokens_expected"] == told["num_samples"] * 7
    assert refusals(sqlite_server, lengths={"type": "list", "num_tokens": [7] * 1_000_001}) == ["/lengths/num_tokens"]
