from __future__ import annotations

import json
import unicodedata
import zlib
from typing import Any

import pytest
from sqlalchemy import select, update

from orchestrator.contracts.batch_spec import AdaptiveMode
from orchestrator.contracts.messages import BatchDecision, EventMessage, EventsBatch, StateReport
from orchestrator.contracts.run_state import RunTrigger
from server.database.tables import schedules
from server.database.writer import Transaction
from server.runs.queries import run_key
from tests.server.cases import case
from tests.server.factories import START, batch_json, metric, step_message
from tests.server.live_server import LiveServer
from trainer.contracts.metric import Reduction

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
        server.http.post(f"/api/v1/runs/{run.id}/heartbeat", json=_beat(1), headers=run.headers),
        server.http.post(f"/api/v1/runs/{run.id}/state", json=_report("failed"), headers=run.headers),
    ):
        assert (answer.status_code, answer.json()["type"]) == (409, "/problems/stale-attempt")
    assert server.get(f"/runs/{run.id}/steps")["total"] == 1


def test_an_attempt_that_has_not_begun_is_unknown(server: LiveServer) -> None:
    run = server.launch()
    answer = server.http.post(f"/api/v1/runs/{run.id}/steps:batch", json=batch_json(step_message(0), attempt=2))
    assert (answer.status_code, answer.json()["type"]) == (409, "/problems/unknown-attempt")


def test_steps_are_integers_that_a_browser_can_hold(server: LiveServer) -> None:
    given = case("server.json", "step-types")["given"]
    run = server.launch()
    for step in given["ok"]:
        assert server.record(run, step_message(step)).status_code == 200
    for bad in given["bad"]:
        body = batch_json(step_message(5))
        body["steps"][0]["step"] = bad
        answer = server.http.post(f"/api/v1/runs/{run.id}/steps:batch", json=body, headers=run.headers)
        assert answer.status_code == 422, bad
        assert [error["pointer"] for error in answer.json()["errors"]] == ["/steps/0/step"]


def test_a_step_that_contradicts_itself_is_refused_with_the_reason(server: LiveServer) -> None:
    given = case("server.json", "batch-size-identity")["given"]
    run = server.launch()
    lengths = (3,) * given["schedule_sums_to"]
    answer = server.record(run, step_message(0, lengths=lengths, global_batch_size=given["global_batch_size"]))
    assert answer.status_code == 422
    assert "/steps/0/global_batch_size" in [error["pointer"] for error in answer.json()["errors"]]
    assert "95" in answer.json()["detail"]


def test_a_sample_on_two_ranks_is_refused(server: LiveServer) -> None:
    run = server.launch()
    body = batch_json(step_message(0))
    schedule = body["steps"][0]["schedule"]
    schedule["micro_batches"] = [[[0, 1, 2]], [[2, 3]]]
    answer = server.http.post(f"/api/v1/runs/{run.id}/steps:batch", json=body, headers=run.headers)
    assert answer.status_code == 422
    assert "twice [2]" in answer.text
    assert server.get(f"/runs/{run.id}/steps")["total"] == 0


def test_a_batch_with_one_bad_step_stores_nothing(server: LiveServer) -> None:
    run = server.launch()
    answer = server.record(run, step_message(0), step_message(1, num_tokens=1))
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["pointer"] == "/steps/1/num_tokens"
    assert server.get(f"/runs/{run.id}/steps")["total"] == 0


def test_bare_nan_is_refused_with_its_position(server: LiveServer) -> None:
    run = server.launch()
    body = json.dumps(batch_json(step_message(0))).replace('"num_dropped": 0', '"num_dropped": NaN')
    for text in (body, case("server.json", "bare-nan-body")["given"]["body"]):
        answer = server.http.post(
            f"/api/v1/runs/{run.id}/steps:batch",
            content=text,
            headers={**run.headers, "Content-Type": "application/json"},
        )
        assert answer.status_code == 400
        assert f"offset {text.index('NaN')}" in answer.json()["detail"]
    assert server.get(f"/runs/{run.id}/steps")["total"] == 0


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


@pytest.mark.parametrize("name", ["", "   "])
def test_blank_metric_names_are_refused(sqlite_server: LiveServer, name: str) -> None:
    run = sqlite_server.launch()
    body = batch_json(step_message(0))
    body["steps"][0]["metrics"] = {name: {"value": 1.0, "weight": 1.0, "reduction": "mean"}}
    answer = sqlite_server.http.post(f"/api/v1/runs/{run.id}/steps:batch", json=body, headers=run.headers)
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["pointer"].startswith("/steps/0/metrics/")


def test_two_spellings_of_one_name_in_one_step_are_refused(sqlite_server: LiveServer) -> None:
    run = sqlite_server.launch()
    answer = sqlite_server.record(run, step_message(0, metrics={"é": metric(1.0), "e\u0301": metric(2.0)}))
    assert answer.status_code == 422
    assert [error["pointer"] for error in answer.json()["errors"]] == ["/steps/0/metrics/e\u0301"]


def test_a_metric_keeps_the_reduction_that_it_began_with(server: LiveServer) -> None:
    run = server.launch()
    server.record(run, step_message(0, metrics={"m": metric(1.0)}))
    answer = server.record(run, step_message(1, metrics={"m": metric(1.0, reduction=Reduction.MAX)}))
    assert answer.status_code == 422
    assert server.get(f"/runs/{run.id}/steps")["total"] == 1


@pytest.mark.parametrize("spelled", ["train/loss", "loss~e\u0301"])
def test_another_reduction_is_pointed_to_in_the_batch_as_it_was_sent(server: LiveServer, spelled: str) -> None:
    run = server.launch()
    # Sent from the last step to the first, so that the place in the batch is not the number of the step.
    batch = [step_message(step, metrics={spelled: metric(1.0)}) for step in range(20, 0, -1)]
    odd = {spelled: metric(1.0, reduction=Reduction.MAX), "other": metric(1.0)}
    batch[17] = step_message(batch[17].step, metrics=odd)
    server.record(run, step_message(0, metrics={unicodedata.normalize("NFC", spelled): metric(1.0)}))
    told = server.record(run, *batch).json()["errors"]
    key = spelled.replace("~", "~0").replace("/", "~1")
    assert [error["pointer"] for error in told] == [f"/steps/17/metrics/{key}/reduction"]


def test_a_conflict_is_pointed_to_in_the_batch(server: LiveServer) -> None:
    run = server.launch()
    server.record(run, step_message(3))
    answer = server.record(run, step_message(5), step_message(4), step_message(3, metrics={"m": metric(1.0)}))
    told = answer.json()
    assert (answer.status_code, told["type"]) == (409, "/problems/conflicting-step")
    assert [error["pointer"] for error in told["errors"]] == ["/steps/2"]
    server.next_attempt(run)
    told = server.record(run, step_message(6)).json()
    assert (told["type"], told["errors"][0]["pointer"]) == ("/problems/stale-attempt", "/attempt")


def test_conflicting_events_and_outcomes_are_pointed_to(server: LiveServer) -> None:
    run = server.launch()
    known, new = (EventMessage(key=key, kind="k", at=START, message="m") for key in ("known", "new"))
    other = known.model_copy(update={"message": "other"})
    ended = StateReport(attempt=1, outcome="succeeded", at=START)
    for path, report, pointer in (
        ("events:batch", EventsBatch(attempt=1, events=(known,)), None),
        ("events:batch", EventsBatch(attempt=1, events=(new, other)), "/events/1"),
        ("state", ended, None),
        ("state", ended.model_copy(update={"outcome": "failed"}), "/outcome"),
    ):
        body = report.model_dump(mode="json")
        answer = server.http.post(f"/api/v1/runs/{run.id}/{path}", json=body, headers=run.headers)
        assert answer.status_code == (200 if pointer is None else 409)
        assert [error["pointer"] for error in answer.json().get("errors", ())] == ([] if pointer is None else [pointer])


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


def test_a_heartbeat_makes_the_run_running_and_tells_its_activity(server: LiveServer) -> None:
    run = server.launch()
    answer = server.http.post(f"/api/v1/runs/{run.id}/heartbeat", json=_beat(1), headers=run.headers)
    assert answer.json() == {"accepted": 1, "duplicates": 0, "desired_state": "run"}
    summary = server.get(f"/runs/{run.id}")
    assert (summary["state"], summary["activity"], summary["total_steps"]) == ("running", "generating", 80)
    assert summary["last_heartbeat_at"] > "2026-02"  # the server's clock, not the driver's


def test_a_lost_run_comes_back_with_the_next_record(server: LiveServer) -> None:
    run = server.launch()
    server.services.runs.apply(run.id, RunTrigger.SILENCE, reason="no heartbeat")
    assert server.get(f"/runs/{run.id}")["state"] == "lost"
    server.record(run, step_message(0))
    summary = server.get(f"/runs/{run.id}")
    assert (summary["state"], summary["reason"]) == ("running", None)


def test_a_driver_is_told_to_stop_once_somebody_cancelled(server: LiveServer) -> None:
    run = server.launch()
    server.record(run, step_message(0))
    server.http.post(f"/api/v1/runs/{run.id}/cancel", json={"mode": "graceful"})
    assert server.record(run, step_message(1)).json()["desired_state"] == "stop"


@pytest.mark.parametrize(("outcome", "state"), [("succeeded", "succeeded"), ("failed", "failed")])
def test_the_last_word_of_a_driver_ends_the_run(server: LiveServer, outcome: str, state: str) -> None:
    run = server.launch()
    path = f"/api/v1/runs/{run.id}/state"
    answers = [server.http.post(path, json=_report(outcome), headers=run.headers).json() for _ in range(2)]
    assert [(answer["accepted"], answer["duplicates"]) for answer in answers] == [(1, 0), (0, 1)]
    assert server.get(f"/runs/{run.id}")["state"] == state
    other = server.http.post(path, json=_report("stopped"), headers=run.headers)
    assert (other.status_code, other.json()["type"]) == (409, "/problems/conflicting-outcome")
    kinds = [event["kind"] for event in server.get(f"/runs/{run.id}/events")["items"]]
    assert kinds.count(f"run.{state}") == 1


def test_a_stopped_driver_leaves_the_run_stopping_until_its_process_is_gone(server: LiveServer) -> None:
    run = server.launch()
    server.http.post(f"/api/v1/runs/{run.id}/cancel")
    server.http.post(f"/api/v1/runs/{run.id}/state", json=_report("stopped"), headers=run.headers)
    assert server.get(f"/runs/{run.id}")["state"] == "stopping"
    assert server.services.runs.attempt(run.id, 1).outcome == "stopped"
    server.services.runs.apply(run.id, RunTrigger.STOPPED)
    assert server.get(f"/runs/{run.id}")["state"] == "cancelled"


def test_a_driver_that_stops_unasked_fails_the_run(server: LiveServer) -> None:
    run = server.launch()
    server.http.post(f"/api/v1/runs/{run.id}/state", json=_report("stopped"), headers=run.headers)
    summary = server.get(f"/runs/{run.id}")
    assert (summary["state"], summary["reason"]) == ("failed", "The driver stopped although nobody asked it to.")


def test_what_is_odd_about_a_run_that_succeeded_is_kept(server: LiveServer) -> None:
    run = server.launch()
    report = _report("succeeded") | {"reason": "finished; 3 of 3 iterations trained nothing"}
    server.http.post(f"/api/v1/runs/{run.id}/state", json=report, headers=run.headers)
    summary = server.get(f"/runs/{run.id}")
    assert (summary["state"], summary["reason"]) == ("succeeded", report["reason"])
    assert server.get(f"/runs/{run.id}/events")["items"][-1]["message"] == report["reason"]


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


def test_events_are_recorded_once(server: LiveServer) -> None:
    run = server.launch()
    batch = EventsBatch(attempt=1, events=(_event("a"), _event("b", data={"n": [1, None, {"x": "损"}]})))
    path = f"/api/v1/runs/{run.id}/events:batch"
    answers = [server.http.post(path, json=batch.model_dump(mode="json"), headers=run.headers).json() for _ in range(2)]
    assert [(answer["accepted"], answer["duplicates"]) for answer in answers] == [(2, 0), (0, 2)]
    other = EventsBatch(attempt=1, events=(_event("a", message="other"),)).model_dump(mode="json")
    assert server.http.post(path, json=other, headers=run.headers).status_code == 409
    told = [event for event in server.get(f"/runs/{run.id}/events")["items"] if event["kind"] == "note"]
    assert [event["data"] for event in told] == [{}, {"n": [1, None, {"x": "损"}]}]


def test_events_come_in_pages(server: LiveServer) -> None:
    run = server.launch()
    events = tuple(_event(f"e{i}") for i in range(5))
    batch = EventsBatch(attempt=1, events=events).model_dump(mode="json")
    server.http.post(f"/api/v1/runs/{run.id}/events:batch", json=batch, headers=run.headers)
    seen, after = [], 0
    while after is not None:
        page = server.get(f"/runs/{run.id}/events", after=after, limit=2)
        seen += [event["id"] for event in page["items"]]
        after = page["next_after"]
    assert len(seen) == len(set(seen)) == 5 + 3  # with queued, starting, running
    assert seen == sorted(seen)


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


def test_a_nul_character_is_refused_before_any_database_sees_it(server: LiveServer) -> None:
    run = server.launch()
    batch = EventsBatch(attempt=1, events=(_event("a", message="a\0b"),)).model_dump(mode="json")
    answer = server.http.post(f"/api/v1/runs/{run.id}/events:batch", json=batch, headers=run.headers)
    assert answer.status_code == 400
    assert server.http.get("/api/v1/runs", params={"text": "a\0b"}).status_code == 400


@pytest.mark.parametrize(
    ("path", "body", "pointer"),
    [
        ("heartbeat", {"total_steps": 10**18}, "/total_steps"),
        ("events:batch", {"at": "0001-01-01T00:00:00+14:00"}, "/events/0/at"),
        ("steps:batch", {"ended_at": "9999-12-31T23:59:59-12:00"}, "/steps/0/ended_at"),
        ("steps:batch", {"iteration": 10**30}, "/steps/0/iteration"),
        ("steps:batch", {"started_at": "2026-01-01T00:00:00"}, "/steps/0/started_at"),
    ],
)
def test_what_no_database_can_hold_is_refused(
    server: LiveServer, path: str, body: dict[str, Any], pointer: str
) -> None:
    run = server.launch()
    whole: dict[str, Any] = {
        "heartbeat": _beat(1) | body,
        "events:batch": {"attempt": 1, "events": [_event("a").model_dump(mode="json") | body]},
        "steps:batch": {"attempt": 1, "steps": [step_message(0).model_dump(mode="json") | body]},
    }[path]
    answer = server.http.post(f"/api/v1/runs/{run.id}/{path}", json=whole, headers=run.headers)
    assert answer.status_code == 422
    assert pointer in [error["pointer"] for error in answer.json()["errors"]]


def _beat(attempt: int) -> dict[str, Any]:
    return {
        "attempt": attempt,
        "at": START.isoformat(),
        "activity": "generating",
        "num_steps": 3,
        "total_steps": 80,
    }


def _report(outcome: str) -> dict[str, Any]:
    return StateReport.model_validate({"attempt": 1, "outcome": outcome, "at": START}).model_dump(mode="json")


def _event(key: str, **changes: Any) -> EventMessage:
    return EventMessage.model_validate({"key": key, "kind": "note", "at": START, "message": "m"} | changes)
