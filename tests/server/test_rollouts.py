from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from server.database.packing import pack_floats, unpack_floats
from server.database.writer import Transaction
from server.rollouts.heads import reward_summary
from server.rollouts.retention import prune_rollouts
from server.runs.queries import run_key
from tests.server.factories import step_message
from tests.server.live_server import LaunchedRun, LiveServer
from tests.server.record_factories import group_message, iteration_message, post, rollout_message


@pytest.fixture
def server(shared_server: LiveServer) -> LiveServer:
    return shared_server


def groups(server: LiveServer, run: LaunchedRun, **query: Any) -> list[dict[str, Any]]:
    """The groups of all pages."""
    found: list[dict[str, Any]] = []
    cursor: dict[str, str] = {}
    while True:
        page = server.get(f"/runs/{run.id}/rollouts", **query, **cursor)
        found += page["items"]
        if page["next_cursor"] is None:
            return found
        cursor = {"cursor": page["next_cursor"]}


def ids(found: list[dict[str, Any]]) -> list[str]:
    return [rollout["rollout_id"] for group in found for rollout in group["rollouts"]]


def record(server: LiveServer, run: LaunchedRun, *messages: Any) -> None:
    answer = post(server, run, "rollouts", *messages)
    assert answer.status_code == 200, answer.text


@pytest.mark.parametrize("values", [(-0.5, -0.25), (-0.1, -1e-30), (0.0,), (-1e300, 1.0), (3.4e38, -1e39)])
def test_packed_floats_come_back_exactly(values: tuple[float, ...]) -> None:
    assert unpack_floats(pack_floats(values), len(values)) == values


def test_a_group_without_a_scored_rollout_has_no_mean() -> None:
    assert reward_summary([None, None]).mean is None
    summary = reward_summary([0.0, 1.0, None])
    assert (summary.mean, summary.std, summary.low, summary.high) == (0.5, 0.5, 0.0, 1.0)
    assert reward_summary([1e308, -1e308]).mean == 0.0


@pytest.mark.stack
def test_groups_come_with_their_rewards_the_newest_iteration_first(server: LiveServer) -> None:
    run = server.launch()
    record(server, run, *(iteration_message(i) for i in range(5)))
    page = server.get(f"/runs/{run.id}/rollouts", limit=3)
    assert [(group["iteration"], group["group_id"]) for group in page["items"]] == [
        (4, "g4.0"),
        (4, "g4.1"),
        (3, "g3.0"),
    ]
    assert page["items"][0]["rewards"] == {"rewards": [0.0, 1.0], "mean": 0.5, "std": 0.5, "low": 0.0, "high": 1.0}
    assert page["items"][0]["rollouts"][1]["beginning"] == "answer of r4.0.1"
    assert page["recorded"] == {
        "num_iterations": 5,
        "num_groups": 10,
        "num_recorded_groups": 10,
        "num_pruned_iterations": 0,
    }
    everything = groups(server, run, limit=3)
    assert len(everything) == 10
    assert len(set(ids(everything))) == 20


@pytest.mark.stack
def test_filters_find_the_rollouts_that_match_and_their_groups_rewards_stay_whole(server: LiveServer) -> None:
    run = server.launch()
    mixed = group_message(
        "mixed",
        [
            rollout_message("good", reward=1.0, text="The Answer is ÜBER"),
            rollout_message("bad", reward=-1.0, fate="filtered", reason="zero_variance", step=None),
            rollout_message("long", reward=0.5, truncated=True),
            rollout_message("odd", reward=None, fate="dropped", reason="remainder", step=None, advantage=None),
        ],
        task="chess",
    )
    record(server, run, iteration_message(0, [mixed]), iteration_message(1))
    expected: dict[tuple[str, ...], dict[str, Any]] = {
        ("good", "long"): {"reward_min": 0.5, "step": 0},
        ("bad",): {"reward_max": -0.5},
        ("long",): {"truncated": "true"},
        ("odd",): {"fate": "dropped", "reason": "remainder"},
        ("good", "bad", "long", "odd"): {"task": "chess"},
        ("good",): {"q": "answer is über"},
        (): {"q": "100%"},
        ("r1.0.0", "r1.0.1", "r1.1.0", "r1.1.1"): {"step": 1},
    }
    for found, query in expected.items():
        assert tuple(ids(groups(server, run, **query))) == found, query
    only = groups(server, run, truncated="true")[0]
    assert (only["num_matching"], only["rewards"]["rewards"]) == (1, [1.0, -1.0, 0.5, None])
    assert ids(groups(server, run, q="prompt of mixed")) == ["good", "bad", "long", "odd"]


@pytest.mark.stack
def test_a_cursor_belongs_to_its_filter(server: LiveServer) -> None:
    run = server.launch()
    record(server, run, *(iteration_message(i) for i in range(3)))
    cursor = server.get(f"/runs/{run.id}/rollouts", limit=1)["next_cursor"]
    for bad, query in ((cursor, {"fate": "trained"}), ("nonsense", {}), ("WzFlOTksMF0", {})):
        answer = server.http.get(f"/api/v1/runs/{run.id}/rollouts", params={"cursor": bad, **query})
        assert (answer.status_code, answer.json()["errors"][0]["parameter"]) == (422, "cursor")


@pytest.mark.stack
def test_a_page_looks_at_a_bounded_part_and_says_where_to_go_on(
    server: LiveServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("server.rollouts.search._WINDOW_ROLLOUTS", 8)
    monkeypatch.setattr("server.rollouts.search._TEXT_WINDOW_ROLLOUTS", 8)
    run = server.launch()
    wanted = iteration_message(0, [group_message("g", [rollout_message("needle", reward=7.0, text="needle")])])
    record(server, run, wanted, *(iteration_message(i) for i in range(1, 9)))
    queries: tuple[dict[str, Any], ...] = ({"reward_min": 7}, {"q": "NEEDLE"})
    for query in queries:
        page = server.get(f"/runs/{run.id}/rollouts", **query)
        assert (page["items"], page["searched_from"]) == ([], 7)
        assert page["next_cursor"] is not None
        assert ids(groups(server, run, **query)) == ["needle"]
    monkeypatch.setattr("server.rollouts.search._MAX_UNPACKED_CHARS", 20)
    assert ids(groups(server, run, q="answer of r3.1.0")) == ["r3.1.0"]


@pytest.mark.stack
def test_a_rollout_that_waited_tells_what_came_of_it(server: LiveServer) -> None:
    run = server.launch()
    carried = rollout_message("w", fate="carried", step=None)
    record(server, run, iteration_message(0, [group_message("g", [carried])], first_step=None, num_steps=0))
    head = groups(server, run)[0]["rollouts"][0]
    assert (head["fate"], head["later"]) == ("carried", None)
    still = {"rollout_id": "w", "fate": "carried", "age": 1}
    books: dict[str, Any] = {"num_carried_in": 1, "num_trained": 4, "num_carried_out": 1}
    record(server, run, iteration_message(1, waited=(still,), **books))
    taken = {"rollout_id": "w", "fate": "trained", "step": 2, "age": 2}
    record(server, run, iteration_message(2, waited=(taken,), num_carried_in=1, num_trained=5))
    later = {"iteration": 2, "fate": "trained", "reason": None, "step": 2, "age": 2}
    for query in ({"iteration": 0}, {"fate": "carried"}, {"step": 2, "iteration": 0}):
        found = groups(server, run, **query)
        assert [head["later"] for group in found for head in group["rollouts"] if head["rollout_id"] == "w"] == [later]
    assert "w" in ids(groups(server, run, step=2))
    assert "w" in ids(groups(server, run, fate="trained"))
    assert server.get(f"/runs/{run.id}/rollouts/w")["later"] == later


@pytest.mark.stack
def test_a_rollout_comes_with_its_tokens_and_its_place_in_the_step(server: LiveServer) -> None:
    run = server.launch()
    step = step_message(0)
    server.record(run, step)
    told = rollout_message("r0.1", text="whole text", trainer_log_probs=())
    record(server, run, iteration_message(0, [group_message("g0.0", [rollout_message("r0.0"), told])]))
    found = server.get(f"/runs/{run.id}/rollouts/r0.1")
    assert {name: found[name] for name in ("text", "pieces", "log_probs", "trainer_log_probs", "prompt", "answer")} == {
        "text": "whole text",
        "pieces": ["an", "sw", "er"],
        "log_probs": [-0.5, -0.25, -0.1],
        "trainer_log_probs": [],
        "prompt": "prompt of g0.0",
        "answer": "right",
    }
    assert (found["sibling_ids"], found["kept"], found["superseded"]) == (["r0.0", "r0.1"], True, False)
    [sample] = found["place"]["samples"]
    assert step.schedule is not None
    assert 1 in step.schedule.micro_batches[sample["dp_rank"]][sample["micro_batch"]]
    assert (sample["sample_id"], sample["index"], sample["weight"]) == ("s0.1", 1, "1/4")


@pytest.mark.stack
def test_never_recorded_not_kept_any_more_and_recorded_are_told_apart(server: LiveServer) -> None:
    run = server.launch()
    record(server, run, *(iteration_message(i) for i in range(2)))

    def prune(transaction: Transaction) -> int:
        key = run_key(transaction.connection, run.id)
        return prune_rollouts(transaction.connection, now=datetime.now(UTC), run_key=key, before_iteration=1)

    assert [server.services.writer.run(prune) for _ in range(2)] == [1, 0]
    kept, pruned = (server.get(f"/runs/{run.id}/rollouts/r{i}.0.0") for i in (1, 0))
    assert (kept["kept"], kept["pruned_at"], kept["text"]) == (True, None, "answer of r1.0.0")
    assert (pruned["kept"], pruned["text"], pruned["pieces"], pruned["reward"]) == (False, None, [], 0.0)
    assert pruned["pruned_at"] is not None
    unknown = server.http.get(f"/api/v1/runs/{run.id}/rollouts/r9.0.0")
    assert (unknown.status_code, "groups_per_iteration" in unknown.json()["detail"]) == (404, True)
    group = groups(server, run, iteration=0)[0]
    assert (group["kept"], group["prompt"], group["rollouts"][0]["beginning"]) == (False, None, None)
    assert ids(groups(server, run, q="answer of r0")) == []
    assert server.get(f"/runs/{run.id}/rollouts")["recorded"]["num_pruned_iterations"] == 1


@pytest.mark.stack
def test_a_later_attempt_takes_over_from_its_first_iteration(server: LiveServer) -> None:
    run = server.launch()
    record(server, run, *(iteration_message(i) for i in range(4)))
    second = server.next_attempt(run)
    server.record(second, step_message(2))  # of iteration 2, whose rollouts come at its end
    assert [item["iteration"] for item in server.get(f"/runs/{run.id}/iterations")["items"]] == [0, 1]
    record(server, second, iteration_message(2, num_refills=3))
    page = server.get(f"/runs/{run.id}/iterations")
    assert [(item["iteration"], item["attempt"]) for item in page["items"]] == [(0, 1), (1, 1), (2, 2)]
    assert page["total"] == 3
    assert [(g["iteration"], g["attempt"]) for g in groups(server, run, iteration=2)] == [(2, 2), (2, 2)]
    newest = server.get(f"/runs/{run.id}/rollouts/r2.0.0")
    assert (newest["attempt"], newest["superseded"]) == (2, False)
    old = server.get(f"/runs/{run.id}/rollouts/r2.0.0", attempt=1)
    assert (old["attempt"], old["superseded"]) == (1, True)
    assert server.get(f"/runs/{run.id}/rollouts/r3.0.0")["superseded"]


@pytest.mark.stack
def test_iterations_come_in_pages(server: LiveServer) -> None:
    run = server.launch()
    record(server, run, *(iteration_message(i) for i in range(5)))
    page = server.get(f"/runs/{run.id}/iterations", limit=2)
    assert ([item["iteration"] for item in page["items"]], page["next_from"], page["total"]) == ([0, 1], 2, 5)
    last = server.get(f"/runs/{run.id}/iterations", **{"from": 4})
    assert ([item["iteration"] for item in last["items"]], last["next_from"]) == ([4], None)
    assert last["items"][0]["num_recorded_rollouts"] == 4


@pytest.mark.stack
def test_a_run_without_rollouts_says_so(server: LiveServer) -> None:
    run = server.launch()
    page = server.get(f"/runs/{run.id}/rollouts", q="x", step=3)
    assert (page["items"], page["next_cursor"], page["recorded"]["num_iterations"]) == ([], None, 0)
