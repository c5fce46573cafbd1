from __future__ import annotations

import json
import zlib

import pytest
from sqlalchemy import select, update

from orchestrator.contracts.batch_spec import AdaptiveMode
from orchestrator.contracts.messages import BatchDecision
from server.database.tables import schedules
from server.database.writer import Transaction
from server.runs.queries import run_key
from tests.server.cases import case
from tests.server.factories import batch_json, beat_json, metric, report_json, step_message
from tests.server.live_server import LiveServer

pytestmark = pytest.mark.stack


@pytest.fixture
def server(shared_server: LiveServer) -> LiveServer:
    return shared_server


def test_a_repeated_batch_is_counted_as_duplicates_and_adds_nothing(server: LiveServer) -> None:
    run, times = server.launch(), case("server.json", "retried-batch")["given"]["same_batch"]
    answers = [server.record(run, step_message(0), step_message(1)).json() for _ in range(times)]
    assert [(answer["accepted"], answer["duplicates"]) for answer in answers] == [(2, 0), (0, 2), (0, 2)]
    assert server.get(f"/runs/{run.id}/steps")["total"] == 2


def test_a_repeat_is_known_whatever_the_order_of_its_metrics(server: LiveServer) -> None:
    run = server.launch()
    metrics = {"a": metric(1.0), "b": metric(2.0)}
    server.record(run, step_message(0, metrics=metrics))
    answer = server.record(run, step_message(0, metrics=dict(reversed(metrics.items()))))
    assert answer.json()["duplicates"] == 1


def test_other_content_for_a_recorded_step_is_a_conflict_and_the_first_is_kept(server: LiveServer) -> None:
    run = server.launch()
    server.record(run, step_message(0, metrics={"train/loss": metric(1.0)}))
    answer = server.record(run, step_message(1), step_message(0, metrics={"train/loss": metric(2.0)}))
    assert (answer.status_code, answer.json()["type"]) == (409, "/problems/conflicting-step")
    assert server.get(f"/runs/{run.id}/steps/0")["metrics"]["train/loss"]["value"] == 1.0
    assert server.get(f"/runs/{run.id}/steps")["total"] == 1  # step 1 of the refused batch is not there


def test_one_step_twice_in_a_batch_is_taken_once(server: LiveServer) -> None:
    run = server.launch()
    answer = server.record(run, step_message(0), step_message(0)).json()
    assert (answer["accepted"], answer["duplicates"]) == (1, 1)


def test_a_writer_of_an_older_attempt_is_fenced_off(server: LiveServer) -> None:
    run = server.launch()
    server.record(run, step_message(0))
    server.next_attempt(run)
    for answer in (
        server.record(run, step_message(case("server.json", "zombie-writer")["given"]["attempt_1_posts_step"])),
        server.http.post(f"/api/v1/runs/{run.id}/heartbeat", json=beat_json(1), headers=run.headers),
        server.http.post(f"/api/v1/runs/{run.id}/state", json=report_json("failed"), headers=run.headers),
    ):
        assert (answer.status_code, answer.json()["type"]) == (409, "/problems/stale-attempt")
    assert server.get(f"/runs/{run.id}/steps")["total"] == 1


def test_an_attempt_that_has_not_begun_is_unknown(server: LiveServer) -> None:
    run = server.launch()
    answer = server.http.post(f"/api/v1/runs/{run.id}/steps:batch", json=batch_json(step_message(0), attempt=2))
    assert (answer.status_code, answer.json()["type"]) == (409, "/problems/unknown-attempt")


def test_non_finite_values_are_told_apart_from_database_to_answer(server: LiveServer) -> None:
    values = case("server.json", "non-finite-end-to-end")["given"]["values"]
    run = server.launch()
    server.record(run, *(step_message(i, metrics={"m": metric(value)}) for i, value in enumerate([*values, None])))
    steps = server.get(f"/runs/{run.id}/steps")["items"]
    assert [step["metrics"]["m"]["value"] for step in steps] == [*values, None]
    series = server.get("/metrics/query", run=run.id, name="m")["series"][0]
    assert [(point["step"], point["value"]) for point in series["non_finite"]] == list(enumerate(values[:3]))
    assert (series["value"], series["total"]) == ([1.0], 4)
    info = next(item for item in server.get(f"/runs/{run.id}/metrics")["items"] if item["name"] == "m")
    assert (info["min"], info["max"], info["num_points"]) == (1.0, 1.0, 4)


def test_names_that_look_the_same_are_one_series(server: LiveServer) -> None:
    names = case("server.json", "unicode-names")["given"]["names"]
    composed, decomposed = "é", "e\u0301"
    run = server.launch()
    spelled = [composed if "NFC" in name else decomposed if "NFD" in name else name for name in names]
    for step, name in enumerate(spelled):
        answer = server.record(run, step_message(step, metrics={name: metric(1.0)})) if name.strip() else None
        assert answer is None or answer.status_code == 200
    listed = {item["name"] for item in server.get(f"/runs/{run.id}/metrics")["items"]}
    assert {name for name in spelled if name.strip()} - {decomposed} <= listed
    assert decomposed not in listed
    for spelling in (composed, decomposed):
        assert server.get("/metrics/query", run=run.id, name=spelling)["series"][0]["total"] == 2
    for name in ("损失/π", "a/../b", "a%2Fb", "loss🔥"):
        assert server.get("/metrics/query", run=run.id, name=name)["series"][0]["name"] == name


def test_a_resumed_attempt_takes_over_from_its_first_step(server: LiveServer) -> None:
    run = server.launch()
    server.record(run, *(step_message(i, lengths=(5, 6)) for i in range(213)))
    second = server.next_attempt(run)
    server.record(second, *(step_message(i, lengths=(5, 6, 7)) for i in range(200, 301)))

    query = {"run": run.id, "name": "global_batch_size", "x": "samples", "superseded": "true"}
    series = {(s["attempt"], s["superseded"]): s for s in server.get("/metrics/query", **query)["series"]}
    assert series[1, False]["step"] == list(range(200))
    assert series[2, False]["step"] == list(range(200, 301))
    assert series[1, True]["step"] == list(range(200, 213))
    assert series[1, False]["x"] + series[2, False]["x"] == [*range(2, 401, 2), *range(403, 704, 3)]
    default = server.get("/metrics/query", **(query | {"superseded": "false"}))["series"]
    assert [(s["attempt"], s["superseded"]) for s in default] == [(1, False), (2, False)]

    summary = server.get(f"/runs/{run.id}")
    assert (summary["num_steps"], summary["last"]["step"]) == (301, 300)
    assert {2, 3} == set(summary["batch_sizes"])
    step = server.get(f"/runs/{run.id}/steps/205")
    assert (step["attempt"], step["superseded"], step["samples_total"]) == (2, False, 418)
    old = server.get(f"/runs/{run.id}/steps/205", attempt=1)
    assert (old["attempt"], old["superseded"], old["samples_total"]) == (1, True, 412)


def test_a_list_shows_the_newest_reward_though_later_steps_of_the_iteration_have_none(server: LiveServer) -> None:
    run = server.launch()
    server.record(run, step_message(0))
    assert server.get(f"/runs/{run.id}")["last"]["reward"] is None
    server.record(run, step_message(1, metrics={"reward/mean": metric(0.25)}), step_message(2))
    assert server.get(f"/runs/{run.id}")["last"]["reward"] == 0.25
    server.record(run, step_message(3, metrics={"reward/mean": metric(None)}))
    summary = server.get(f"/runs/{run.id}")["last"]
    assert (summary["step"], summary["reward"], summary["loss"]) == (3, 0.25, None)


def test_the_newest_step_is_the_resumed_one_although_its_number_is_lower(server: LiveServer) -> None:
    run = server.launch()
    server.record(run, *(step_message(i) for i in range(10)))
    server.record(server.next_attempt(run), step_message(4, lengths=(5, 6)))
    summary = server.get(f"/runs/{run.id}")
    assert (summary["num_steps"], summary["last"]["step"], summary["last"]["global_batch_size"]) == (5, 4, 2)


def test_steps_that_arrive_late_count_in_the_totals_after_them(server: LiveServer) -> None:
    run = server.launch()
    server.record(run, step_message(0), step_message(2))
    server.record(run, step_message(1, lengths=(5, 6, 7)))
    assert [s["samples_total"] for s in server.get(f"/runs/{run.id}/steps")["items"]] == [4, 7, 11]
    summary = server.get(f"/runs/{run.id}")
    assert (summary["num_steps"], summary["last"]["step"], summary["batch_sizes"]) == (3, 2, [4, 3, 4])


def test_carried_rollouts_and_the_decision_on_the_size_come_back_as_they_were_told(server: LiveServer) -> None:
    run = server.launch()
    decision = BatchDecision(
        mode=AdaptiveMode.CONTROL, noise_scale=96.5, proposed_size=96, size_before=64, size_after=96, reason="It grew."
    )
    told = step_message(0, num_carried_in=2, num_carried_out=1, batch_decision=decision)
    server.record(run, told, step_message(1))
    rows = server.get(f"/runs/{run.id}/steps")["items"]
    assert [(row["num_carried_in"], row["num_carried_out"]) for row in rows] == [(2, 1), (0, 0)]
    assert [row["batch_decision"] for row in rows] == [decision.model_dump(mode="json"), None]
    series = server.get("/metrics/query", run=run.id, name=["num_carried_in", "num_carried_out"])["series"]
    assert [s["value"] for s in series] == [[2.0, 0.0], [1.0, 0.0]]


def test_a_schedule_that_was_stored_before_it_had_all_fields_still_loads(server: LiveServer) -> None:
    run = server.launch()
    server.record(run, step_message(0))
    new = ("micro_batch_size", "packer", "barrier", "cp", "pp", "vpp", "zero_variance")

    def work(transaction: Transaction) -> None:
        mine = schedules.c.run_key == run_key(transaction.connection, run.id)
        blob = transaction.connection.scalar(select(schedules.c.blob).where(mine))
        stored = json.loads(zlib.decompress(blob))
        for name in new:
            del stored[name]
        del stored["samples"]["age"]
        transaction.connection.execute(
            update(schedules).where(mine).values(blob=zlib.compress(json.dumps(stored).encode()))
        )

    server.services.writer.run(work)
    schedule = server.get(f"/runs/{run.id}/steps/0/schedule")["schedule"]
    assert [schedule[name] for name in new] == [None, "first_fit_decreasing", "step", 1, 1, 1, None]
    assert schedule["samples"]["age"] == []


def test_the_schedule_comes_back_as_it_was_told_with_a_certificate_that_holds(server: LiveServer) -> None:
    run = server.launch()
    message = step_message(3, lengths=(5, 9, 30, 12, 70, 8, 8))
    server.record(run, message)
    answer = server.get(f"/runs/{run.id}/steps/3/schedule")
    assert answer["schedule"] == message.schedule.model_dump(mode="json")
    assert answer["certificate"]["holds"]
    assert answer["certificate"]["total"] == "1"
    placed = [i for rank in answer["schedule"]["micro_batches"] for micro_batch in rank for i in micro_batch]
    assert sorted(placed) == list(range(answer["global_batch_size"]))
