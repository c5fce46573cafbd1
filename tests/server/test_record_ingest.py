from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import func, select

from server.database.tables import (
    checkpoints,
    iterations,
    log_lines,
    rollout_fates,
    rollout_groups,
    rollout_tokens,
    rollouts,
    runs,
    system_samples,
    timelines,
)
from tests.server.factories import START, step_message
from tests.server.live_server import LaunchedRun, LiveServer
from tests.server.record_factories import (
    NAMES,
    checkpoint_message,
    group_message,
    iteration_message,
    log_line,
    post,
    rollout_message,
    system_sample,
    timeline_columns,
)
from trainer.contracts.text_model import TextModel

pytestmark = pytest.mark.stack


@pytest.fixture
def server(shared_server: LiveServer) -> LiveServer:
    return shared_server


def count(server: LiveServer, run: LaunchedRun, table: Any) -> int:
    with server.services.database.read() as connection:
        key = select(runs.c.key).where(runs.c.id == run.id).scalar_subquery()
        query = select(func.count()).select_from(table).where(table.c.run_key == key)
        return int(connection.execute(query).scalar_one())


BATCHES: dict[str, tuple[TextModel, TextModel, TextModel]] = {
    "rollouts": (iteration_message(0), iteration_message(1), iteration_message(0, num_refills=1)),
    "logs": (log_line(0), log_line(1), log_line(0, "other")),
    "checkpoints": (checkpoint_message(0), checkpoint_message(1), checkpoint_message(0, num_bytes=1)),
}
"""Of each kind: two records, and the first with other content."""


@pytest.mark.parametrize("kind", BATCHES)
def test_records_are_taken_once_all_or_none_and_of_the_newest_attempt(server: LiveServer, kind: str) -> None:
    run = server.launch()
    table = {"rollouts": iterations, "logs": log_lines, "checkpoints": checkpoints}[kind]
    one, another, changed = BATCHES[kind]
    answers = [post(server, run, kind, one).json() for _ in range(3)]
    assert [(answer["accepted"], answer["duplicates"]) for answer in answers] == [(1, 0), (0, 1), (0, 1)]
    twice = post(server, run, kind, another, another, one).json()
    assert (twice["accepted"], twice["duplicates"]) == (1, 2)
    conflict = post(server, run, kind, BATCHES[kind][0].model_copy(update=_later(kind)), changed)
    assert conflict.status_code == 409
    assert conflict.json()["type"].startswith("/problems/conflicting-")
    list_of = {"rollouts": "iterations", "logs": "lines", "checkpoints": "checkpoints"}
    assert [error["pointer"] for error in conflict.json()["errors"]] == [f"/{list_of[kind]}/1"]
    assert count(server, run, table) == 2
    server.next_attempt(run)
    stale = post(server, run, kind, one)
    assert (stale.status_code, stale.json()["type"]) == (409, "/problems/stale-attempt")
    assert post(server, run, kind, one, attempt=2).status_code == 403


def _later(kind: str) -> dict[str, Any]:
    return {{"rollouts": "iteration", "logs": "number", "checkpoints": "step"}[kind]: 7}


def test_a_whole_iteration_is_stored_in_its_parts(server: LiveServer) -> None:
    run = server.launch()
    carried = group_message(
        "g", [rollout_message("a", fate="carried", step=None, pieces=(), log_probs=(), trainer_log_probs=())]
    )
    post(server, run, "rollouts", iteration_message(0, [carried]))
    waited = ({"rollout_id": "a", "fate": "trained", "step": 1, "age": 1},)
    taken_up = iteration_message(1, num_carried_in=1, num_trained=5, waited=waited)
    assert post(server, run, "rollouts", taken_up).json()["accepted"] == 1
    assert [count(server, run, table) for table in (rollout_groups, rollouts, rollout_tokens, rollout_fates)] == [
        3,
        5,
        4,
        1,
    ]


@pytest.mark.parametrize(
    ("changes", "pointer"),
    [
        ({"ended_at": "2025-01-01T00:00:00Z"}, "/ended_at"),
        ({"started_at": "0001-01-01T00:00:00+14:00"}, "/started_at"),
        ({"num_refills": 2**60}, "/num_refills"),
        ({"first_step": None}, "/first_step"),
        ({"num_groups": 1}, "/groups"),
        ({"num_trained": 3, "num_carried_out": 1}, "/num_trained"),
        ({"num_trained": 5}, "/num_trained"),
    ],
)
def test_books_that_contradict_the_rollouts_are_refused(
    server: LiveServer, changes: dict[str, Any], pointer: str
) -> None:
    run = server.launch()
    told = [iteration_message(i).model_dump(mode="json") for i in (1, 0)]
    body = {"attempt": 1, "iterations": [told[0], told[1] | changes]}
    answer = server.http.post(f"/api/v1/runs/{run.id}/rollouts:batch", json=body, headers=run.headers)
    assert answer.status_code == 422
    assert f"/iterations/1{pointer}" in [error["pointer"] for error in answer.json()["errors"]]
    assert count(server, run, iterations) == 0


def test_what_no_database_can_hold_is_refused(server: LiveServer) -> None:
    run = server.launch()
    early = "0001-01-01T00:00:00+14:00"
    for kind, message, field in (
        ("logs", log_line(0), "/lines/0/at"),
        ("checkpoints", checkpoint_message(0), "/checkpoints/0/at"),
    ):
        body = {"attempt": 1, NAMES[kind]: [message.model_dump(mode="json") | {"at": early}]}
        answer = server.http.post(f"/api/v1/runs/{run.id}/{kind}:batch", json=body, headers=run.headers)
        assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, field)
    beat = _beat(system_sample().model_dump(mode="json") | {"at": early})
    answer = server.http.post(f"/api/v1/runs/{run.id}/heartbeat", json=beat, headers=run.headers)
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, "/system/at")


def test_counts_whose_sums_no_database_holds_are_refused(server: LiveServer) -> None:
    run = server.launch()
    for changes in (
        {"num_groups": 2**40 + 1},
        {"num_carried_in": 2**40 + 1, "num_carried_out": 2**40 + 1},
        {"num_carried_in": 2**40 + 1, "filtered": {"r": 2**40 + 1}},
    ):
        answer = post(server, run, "rollouts", iteration_message(0, **changes))
        assert answer.status_code == 422, changes
    assert post(server, run, "rollouts", iteration_message(0, num_groups=2**40)).status_code == 200


def test_a_later_message_of_a_checkpoint_takes_its_place_and_an_older_one_does_not(server: LiveServer) -> None:
    run = server.launch()
    whole, removed = checkpoint_message(5), checkpoint_message(5, at=START + timedelta(hours=1), removed=True)
    answers = [post(server, run, "checkpoints", message).json()["accepted"] for message in (whole, removed, whole)]
    assert answers == [1, 1, 0]
    with server.services.database.read() as connection:
        query = select(checkpoints.c.removed).join(runs, runs.c.key == checkpoints.c.run_key)
        assert connection.execute(query.where(runs.c.id == run.id)).scalars().all() == [True]


def test_a_timeline_comes_with_its_step_and_a_sample_of_the_machine_with_a_heartbeat(server: LiveServer) -> None:
    run = server.launch()
    told = step_message(0, timeline=timeline_columns())
    assert [server.record(run, told).json()["duplicates"] for _ in range(2)] == [0, 1]
    assert server.record(run, step_message(0)).status_code == 409
    for second in (0.0, 0.0, 5.0):
        beat = _beat(system_sample(second).model_dump(mode="json"))
        server.http.post(f"/api/v1/runs/{run.id}/heartbeat", json=beat, headers=run.headers)
    assert (count(server, run, timelines), count(server, run, system_samples)) == (1, 2)


def _beat(system: dict[str, Any]) -> dict[str, Any]:
    return {
        "attempt": 1,
        "at": START.isoformat(),
        "activity": "generating",
        "num_steps": 0,
        "total_steps": None,
        "system": system,
    }
