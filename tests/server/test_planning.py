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


def test_a_draft_is_planned_or_told_what_is_wrong_with_it(sqlite_server: LiveServer) -> None:
    def draft(spec: Any) -> Any:
        answer = sqlite_server.http.post("/api/v1/plan:draft", json={"request": {"spec": spec}})
        assert answer.status_code == 200, answer.text
        return answer.json()

    assert draft(spec_json())["plan"]["num_steps"] > 0
    half = draft({"name": "half", "batch": {"type": "fixed", "global_batch_size": 0}})
    assert half["plan"] is None
    assert "/spec/batch/global_batch_size" in [problem["pointer"] for problem in half["problems"]]
    nowhere = draft(spec_json(model={"type": "huggingface", "path": "/nowhere"}))
    assert [problem["pointer"] for problem in nowhere["problems"]] == ["/spec/model/path"]
    assert sqlite_server.http.post("/api/v1/plan:draft", json={"request": {}, "else": 1}).status_code == 422


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


def test_a_run_for_a_larger_machine_is_planned_with_a_warning_and_not_started(sqlite_server: LiveServer) -> None:
    spec = spec_json(parallelism={"dp": 2_000})
    assert any("this machine has" in warning for warning in plan(sqlite_server, spec=spec)["warnings"])
    refused = sqlite_server.http.post("/api/v1/runs", json=spec)
    assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (422, "/parallelism/dp")


@pytest.mark.parametrize("wrong", [{"lr": 1e308}, {"lr": 1, "weight_decay": 1e308}, {"lr": 1, "eps": 1e308}])
def test_numbers_beyond_all_use_are_refused_by_field(sqlite_server: LiveServer, wrong: dict[str, float]) -> None:
    [refused] = refusals(sqlite_server, spec=spec_json(optimizer=wrong))
    assert refused.startswith("/spec/optimizer/")
    assert sqlite_server.http.post("/api/v1/runs", json=spec_json(optimizer=wrong)).status_code == 422


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


def what_if(server: LiveServer, path: str, **asked: Any) -> Any:
    answer = server.http.post(f"/api/v1/runs/{path}/whatif", json=asked)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_a_recorded_step_is_scheduled_otherwise_with_the_same_weights(server: LiveServer) -> None:
    run = server.launch()
    message = step_message(3, lengths=(30, 31, 32, 33, 34, 35, 36))
    server.record(run, message)
    told = what_if(server, f"{run.id}/steps/3", dp=4)
    assert (told["asked"]["dp"], told["ran"]["dp"]) == (4, 2)
    placed = [i for rank in told["micro_batches"] for micro_batch in rank for i in micro_batch]
    assert (sorted(placed), len(told["micro_batches"])) == (list(range(7)), 4)
    assert told["certificate_sha256"] == message.schedule.certificate_sha256
    assert told["change"]["makespan_frac"] < 0
    assert told["ran_measured"]["makespan_s"] == max(map(sum, message.schedule.measured_s))
    same = what_if(server, f"{run.id}/steps/3")
    assert same["asked"] == same["ran"]


def test_a_superseded_step_is_reached_by_its_attempt(server: LiveServer) -> None:
    run = server.launch()
    server.record(run, step_message(0, lengths=(5, 6)))
    server.record(server.next_attempt(run), step_message(0, lengths=(5, 6, 7)))

    def num_samples(query: str) -> int:
        told = server.http.post(f"/api/v1/runs/{run.id}/steps/0/whatif{query}", json={}).json()
        return sum(len(micro_batch) for rank in told["micro_batches"] for micro_batch in rank)

    assert (num_samples(""), num_samples("?attempt=1"), num_samples("?attempt=2")) == (3, 2, 3)


@pytest.mark.parametrize(
    ("asked", "pointers"),
    [
        ({"token_cap": 64, "micro_batch_size": 2}, ["/token_cap", "/micro_batch_size"]),
        ({"dp": 0}, ["/dp"]),
        ({"dp": True}, ["/dp"]),
        ({"dp": 10**9}, ["/dp"]),
        ({"vpp": 2}, ["/vpp", "/pp"]),
    ],
)
def test_settings_that_do_not_fit_are_named(
    sqlite_server: LiveServer, asked: dict[str, Any], pointers: list[str]
) -> None:
    run = sqlite_server.launch()
    sqlite_server.record(run, step_message(0))
    answer = sqlite_server.http.post(f"/api/v1/runs/{run.id}/steps/0/whatif", json=asked)
    assert answer.status_code == 422
    assert [error["pointer"] for error in answer.json()["errors"]] == pointers
    assert sqlite_server.http.post(f"/api/v1/runs/{run.id}/steps/1/whatif", json={}).status_code == 404
