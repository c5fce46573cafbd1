"""The Python client against a real server."""

from __future__ import annotations

import itertools
import json
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from orchestrator.contracts.run_spec import RunSpec
from orchestrator.contracts.run_state import RunTrigger
from server.client import (
    ConstantLengths,
    InvalidError,
    NoServerError,
    NotFoundError,
    RunLengths,
    SwellClient,
    SwellError,
)
from server.live.schemas import LiveEvent, StepsEvent
from server.runs.schemas import Run
from tests.server.factories import START, metric, spec_json, step_message
from tests.server.live_server import LaunchedRun, LiveServer
from tests.server.record_factories import (
    checkpoint_message,
    iteration_message,
    log_line,
    post,
    system_sample,
    timeline_columns,
)

OPENAPI_DOCUMENT = Path(__file__).parents[2] / "web" / "openapi.json"


VERBS = {
    "cancelRun": "cancel",
    "changeRun": "change",
    "cloneRun": "clone",
    "createLoginLink": "login_link",
    "createRun": "submit",
    "createToken": "create_token",
    "deleteRun": "delete",
    "exportRun": "export",
    "getLedger": "ledger",
    "getLimits": "limits",
    "getRetention": "retention",
    "getRollout": "rollout",
    "getRun": "show",
    "getStep": "step",
    "getStepSchedule": "schedule",
    "getStepTimeline": "step_timeline",
    "getSystem": "system",
    "getTimeline": "timeline",
    "listAdvisories": "advisories",
    "listAuditEvents": "audit",
    "listCheckpoints": "checkpoints",
    "listIterations": "iterations",
    "listLogs": "logs",
    "listMetrics": "metric_names",
    "listRollouts": "rollouts",
    "listRunEvents": "events",
    "listRuns": "runs",
    "listSteps": "steps",
    "listTokens": "tokens",
    "pauseRun": "pause",
    "planRun": "plan",
    "pollEvents": "live",
    "queryMetrics": "metrics",
    "restoreRun": "restore",
    "resumeRun": "resume",
    "retryRun": "retry",
    "revokeToken": "revoke_token",
    "rotateAdminToken": "rotate_admin_token",
    "rotateToken": "rotate_token",
    "whatIf": "what_if",
}


"""Operations of the API, and the client's word for each."""


WITHOUT_A_VERB = {
    # Recorders and drivers speak these themselves.
    *("beginAttempt", "recordCheckpoints", "recordEvents", "recordLogs", "recordRollouts"),
    *("recordSteps", "reportHeartbeat", "reportState"),
    # A form that is being filled in; browsers, which hold a stream open; those who watch over a server.
    *("planDraft", "proposeCloneName", "streamEvents", "getHealth", "getReadiness"),
}


@pytest.fixture
def client(sqlite_server: LiveServer) -> Iterator[SwellClient]:
    token = sqlite_server.settings.token_path.read_text().strip()
    with SwellClient(url=sqlite_server.url, token=token) as client:
        yield client


@pytest.fixture
def recorded(sqlite_server: LiveServer) -> LaunchedRun:
    run = sqlite_server.launch(name="recorded")
    steps = [step_message(step, metrics={"train/loss": metric(1.0 / (1 + step))}) for step in range(3)]
    assert sqlite_server.record(run, *steps).status_code == 200
    return run


def test_a_run_is_submitted_found_changed_cloned_and_deleted(client: SwellClient) -> None:
    run = client.submit(spec_json(name="a/b c"))
    assert isinstance(run, Run)
    assert client.show("a/b c").id == run.id
    assert client.change(run.id, tags={"kind": "test"}).tags == {"kind": "test"}
    cloned = client.clone("a/b c", changes={"name": "clone", "optimizer": {"lr": 2e-3}})
    assert (cloned.parent_id, cloned.spec.optimizer.lr) == (run.id, 2e-3)
    assert [found.name for found in client.runs(tags=["kind=test"])] == ["a/b c"]
    assert [found.state for found in client.watch(client.cancel(run.id).id)] == ["cancelled"]
    assert client.delete(run.id).id == run.id
    assert client.restore(run.id).name == "a/b c"
    client.delete(run.id)
    with pytest.raises(NotFoundError):
        client.show(run.id)


def test_what_a_run_recorded_comes_typed(client: SwellClient, recorded: LaunchedRun, tmp_path: Path) -> None:
    assert [row.step for row in client.steps("recorded", first=1)] == [1, 2]
    assert client.step("recorded", 2).global_batch_size == 4
    assert client.schedule("recorded", 0).certificate.holds
    [series] = client.metrics("recorded", "train/loss", x="samples", first=5).series
    assert (series.x, series.value) == ((8.0, 12.0), (1 / 2, 1 / 3))
    assert "train/loss" in [found.name for found in client.metric_names("recorded").items]
    assert [event.kind for event in client.events("recorded")][:2] == ["run.queued", "run.starting"]
    assert client.retention("recorded").pruned == ()
    size = client.export("recorded", tmp_path / "run.csv")
    content = (tmp_path / "run.csv").read_bytes()
    assert (len(content), len(content.splitlines())) == (size, 4)


def test_histories_of_several_runs_come_in_one_answer(
    client: SwellClient, sqlite_server: LiveServer, recorded: LaunchedRun
) -> None:
    other = sqlite_server.launch(name="other")
    sqlite_server.record(other, step_message(0, metrics={"train/loss": metric(7.0)}))
    history = client.metrics(["recorded", "other"], "train/loss", "no/such")
    assert {(one.run, one.value[0]) for one in history.series} == {(recorded.id, 1.0), (other.id, 7.0)}
    assert {(one.run, one.name) for one in history.errors} == {(recorded.id, "no/such"), (other.id, "no/such")}


def test_a_step_is_scheduled_otherwise_by_the_lengths_that_it_had(
    client: SwellClient, sqlite_server: LiveServer, recorded: LaunchedRun
) -> None:
    told = client.what_if("recorded", 1, dp=1, balance="tokens")
    assert (told.ran.dp, told.asked.dp, told.asked.balance) == (2, 1, "tokens")
    assert told.certificate_sha256 == client.schedule("recorded", 1).schedule.certificate_sha256
    with pytest.raises(InvalidError) as caught:
        client.what_if("recorded", 1, token_cap=64, micro_batch_size=2)
    assert caught.value.pointers == ("/token_cap", "/micro_batch_size")
    with pytest.raises(NotFoundError):
        client.what_if("recorded", 99)

    again = sqlite_server.next_attempt(recorded)
    assert sqlite_server.record(again, step_message(1, lengths=(5, 6))).status_code == 200
    num_samples = {attempt: client.step("recorded", 1, attempt=attempt).global_batch_size for attempt in (None, 1, 2)}
    assert num_samples == {None: 2, 1: 4, 2: 2}
    placed = client.what_if("recorded", 1, attempt=1).micro_batches
    assert sum(len(micro_batch) for rank in placed for micro_batch in rank) == 4


def test_timelines_and_the_machine_come_typed(client: SwellClient, sqlite_server: LiveServer) -> None:
    run = sqlite_server.launch(name="measured")
    sqlite_server.record(run, *(step_message(step, timeline=timeline_columns()) for step in range(3)))
    assert [part.step for part in client.timeline("measured", first=1)] == [1, 2]
    assert [part.step for part in client.timeline("measured", end=2)] == [0, 1]
    timeline = client.step_timeline("measured", 2).timeline
    assert timeline is not None
    assert set(timeline.actor) == {"rank 0"}

    body = {"attempt": run.attempt, "at": START.isoformat(), "activity": "a", "num_steps": 3, "total_steps": None}
    for second in range(4):
        sample = system_sample(float(second)).model_dump(mode="json")
        told = sqlite_server.http.post(
            f"/api/v1/runs/{run.id}/heartbeat", json=body | {"system": sample}, headers=run.headers
        )
        assert told.status_code == 200
    found = client.system("measured", first=START + timedelta(seconds=1), end=START + timedelta(seconds=3))
    assert (len(found.at), found.total, found.num_cpus) == (2, 2, 2)


def test_a_run_is_planned_with_lengths_listed_declared_or_of_another_run(
    client: SwellClient, recorded: LaunchedRun
) -> None:
    listed = client.plan(spec_json(), lengths=[11])
    assert listed.num_tokens_expected == listed.num_samples * 11
    declared = client.plan(RunSpec.model_validate(spec_json()), lengths=ConstantLengths(type="constant", num_tokens=9))
    assert declared.num_tokens_expected == declared.num_samples * 9
    earlier = client.plan(spec_json(), lengths=RunLengths(type="run", run=recorded.id), kept_frac=0.5)
    assert any("of the run" in sentence for sentence in earlier.assumptions)
    assert earlier.num_samples < listed.num_samples
    with pytest.raises(InvalidError) as caught:
        client.plan(spec_json(iterations=0), lengths=[0])
    assert {"/spec/iterations", "/lengths/num_tokens/0"} <= set(caught.value.pointers)


def test_what_happens_is_told_as_it_happens(
    client: SwellClient, sqlite_server: LiveServer, recorded: LaunchedRun
) -> None:
    other = sqlite_server.launch(name="not asked for")
    heard = queue.SimpleQueue[LiveEvent]()

    def listen() -> None:
        for event in client.live("recorded"):
            heard.put(event)
            if isinstance(event, StepsEvent):
                return

    listener = threading.Thread(target=listen)
    listener.start()
    # Nobody is told when the first question has been answered: from then on each step is news.
    for step in itertools.count(3):
        sqlite_server.record(other, step_message(step))
        sqlite_server.record(recorded, step_message(step))
        listener.join(0.2)
        if not listener.is_alive():
            break
    events = [heard.get_nowait() for _ in range(heard.qsize())]
    assert isinstance(events[-1], StepsEvent)
    assert {event.data.run for event in events if isinstance(event, StepsEvent)} == {recorded.id}


def test_changes_are_told_with_who_made_them(client: SwellClient) -> None:
    run = client.submit(spec_json(name="audited"))
    client.cancel(run.id)
    assert [event.operation for event, _ in zip(client.audit(), range(2), strict=False)] == ["cancelRun", "createRun"]


def test_rollouts_books_and_checkpoints_come_typed(
    client: SwellClient, sqlite_server: LiveServer, recorded: LaunchedRun
) -> None:
    messages = [iteration_message(0), iteration_message(1)]
    assert post(sqlite_server, recorded, "rollouts", *messages).status_code == 200
    assert post(sqlite_server, recorded, "checkpoints", checkpoint_message(2)).status_code == 200
    assert [books.iteration for books in client.iterations("recorded", first=1)] == [1]
    groups = list(client.rollouts("recorded"))
    assert {group.iteration for group in groups} == {0, 1}
    rollout_id = groups[0].rollouts[0].rollout_id
    assert client.rollout("recorded", rollout_id).rollout_id == rollout_id
    assert not list(client.rollouts("recorded", text="no such text"))
    totals = [ledger.total for ledger in (client.ledger("recorded"), client.ledger("recorded", end=1))]
    assert [total and total.num_generated for total in totals] == [8, 4]
    assert [checkpoint.step for checkpoint in client.checkpoints("recorded")] == [2]


def test_logs_come_from_the_end_and_are_followed_until_the_run_ends(
    client: SwellClient, sqlite_server: LiveServer, recorded: LaunchedRun
) -> None:
    def write(first: int, count: int, **changes: Any) -> None:
        lines = [log_line(i, f"line {i}", **changes) for i in range(first, first + count)]
        assert post(sqlite_server, recorded, "logs", *lines).status_code == 200

    write(0, 10)
    write(0, 3, source="rank 0", level="warning")
    assert [line.number for line in client.logs("recorded", source="driver", tail=3)] == [7, 8, 9]
    assert [line.source for line in client.logs("recorded", level="warning")] == ["rank 0"] * 3
    assert [line.number for line in client.logs("recorded", text="LINE 1")] == [1, 1]
    assert len(client.logs("recorded", tail=0)) == 0

    def end() -> None:
        write(10, 2)
        for trigger in (RunTrigger.REPORT, RunTrigger.SUCCEED):
            sqlite_server.services.runs.apply(recorded.id, trigger)

    timer = threading.Timer(0.3, end)
    timer.start()
    followed = [line.number for line in client.follow_logs("recorded", source="driver", tail=2)]
    timer.join()
    assert followed == [8, 9, 10, 11]


def test_an_export_that_fails_leaves_no_file_behind(client: SwellClient, recorded: LaunchedRun, tmp_path: Path) -> None:
    with pytest.raises(InvalidError):
        client.export("recorded", tmp_path / "run.xls")
    assert not list(tmp_path.glob("run*"))


def test_a_refusal_carries_title_detail_and_pointers(client: SwellClient) -> None:
    with pytest.raises(InvalidError) as caught:
        client.submit(spec_json(optimizer={}, iterations=0))
    assert caught.value.status == 422
    assert caught.value.title == "Unprocessable Content"
    assert {"/optimizer/lr", "/iterations"} <= set(caught.value.pointers)
    assert "/iterations: " in str(caught.value)


def test_what_the_server_takes_at_most_is_told(client: SwellClient, sqlite_server: LiveServer) -> None:
    limits = client.limits()
    assert limits.body_deadline_s == sqlite_server.settings.body_deadline_s
    assert (limits.max_step_tokens, limits.max_count) == (2**40, 2**53 - 1)


def test_tokens_are_made_listed_and_revoked(client: SwellClient, sqlite_server: LiveServer) -> None:
    made = client.create_token("grafana", access="read")
    with SwellClient(url=sqlite_server.url, token=made.token) as reader:
        assert reader.runs().total == 0
        with pytest.raises(SwellError) as caught:
            reader.submit(spec_json())
        assert caught.value.status == 403
        client.revoke_token(made.id)
        with pytest.raises(SwellError) as caught:
            reader.runs()
        assert caught.value.status == 401
    assert [(token.name, token.revoked_at is None) for token in client.tokens().items] == [("grafana", False)]


def test_address_and_token_are_those_of_the_home(
    sqlite_server: LiveServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("SWELL_URL", "SWELL_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SWELL_HOME", str(sqlite_server.settings.home))
    monkeypatch.setenv("SWELL_PORT", str(sqlite_server.settings.port))
    with SwellClient() as client:
        assert client.runs().total == 0
    monkeypatch.setenv("SWELL_HOME", str(tmp_path / "empty"))
    with pytest.raises(NoServerError, match="SWELL_TOKEN"):
        SwellClient()


def test_every_operation_of_the_api_has_a_verb() -> None:
    document = json.loads(OPENAPI_DOCUMENT.read_text())
    operations = {one["operationId"] for path in document["paths"].values() for one in path.values()}
    assert operations == {*VERBS, *WITHOUT_A_VERB}
    assert [verb for verb in VERBS.values() if not callable(getattr(SwellClient, verb, None))] == []


def test_the_client_needs_no_torch_no_ray_and_no_server() -> None:
    script = "import sys, server.client; print(sorted({m.split('.')[0] for m in sys.modules} & {*sys.argv[1:]}))"
    heavy = ["torch", "ray", "megatron", "transformers", "fastapi", "sqlalchemy", "uvicorn"]
    told = subprocess.run([sys.executable, "-c", script, *heavy], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"
