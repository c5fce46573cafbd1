"""What recording asks of the database: few statements for a step, one transaction for all who wait."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from orchestrator.contracts.messages import Heartbeat, IngestAnswer, StepMessage, StepsBatch
from server.database.writer import Transaction
from server.errors import ConflictError
from server.ingest.metric_catalogue import MetricCatalogue
from server.ingest.open_run import open_run
from server.ingest.prepared_step import prepare_steps
from tests.server.engine_events import counted
from tests.server.factories import START, metric, step_message
from tests.server.live_server import LaunchedRun, LiveServer
from trainer.contracts.metric import Reduction

pytestmark = pytest.mark.stack

MOST_FOR_A_STEP = 7
"""BEGIN, the run with its newest step, 3 inserts, the attempt, the run."""
MOST_FOR_A_HEARTBEAT = 4


@pytest.fixture
def server(shared_server: LiveServer) -> LiveServer:
    return shared_server


def test_a_step_takes_few_statements(server: LiveServer) -> None:
    run = server.launch()
    _record(server, run, 0, 1, 2)
    with counted(server.services.database.write_engine, "before_cursor_execute") as statements:
        _record(server, run, 3)
    assert len(statements) <= MOST_FOR_A_STEP


def test_a_step_of_a_later_attempt_takes_two_more(server: LiveServer) -> None:
    run = server.launch()
    _record(server, run, 0, 1, 2)
    second = server.next_attempt(run)
    _record(server, second, 2)
    with counted(server.services.database.write_engine, "before_cursor_execute") as statements:
        _record(server, second, 3)
    assert len(statements) <= MOST_FOR_A_STEP + 2


def test_a_repeated_step_writes_only_that_somebody_was_heard(server: LiveServer) -> None:
    run = server.launch()
    _record(server, run, 0, 1)
    with counted(server.services.database.write_engine, "before_cursor_execute") as statements:
        _record(server, run, 1)
    changes = [statement for statement in statements if statement.startswith(("INSERT", "UPDATE"))]
    assert all("SET last_heartbeat_at=" in change and "," not in change.partition("WHERE")[0] for change in changes)
    assert len(changes) == 2


def test_a_heartbeat_takes_few_statements(server: LiveServer) -> None:
    run = server.launch()
    beat = Heartbeat(attempt=1, at=START, activity="generating", num_steps=3, total_steps=9)
    server.services.ingest.heartbeat(run.id, beat)
    with counted(server.services.database.write_engine, "before_cursor_execute") as statements:
        server.services.ingest.heartbeat(run.id, beat)
    assert len(statements) <= MOST_FOR_A_HEARTBEAT


def test_writers_that_wait_share_one_transaction_and_a_bad_one_is_refused_alone(server: LiveServer) -> None:
    runs = [server.launch() for _ in range(8)]
    for run in runs:
        _record(server, run, 0)
    steps = [step_message(1) for _ in runs[1:]]
    bad = step_message(0, metrics={"train/loss": metric(9.0)})
    with counted(server.services.database.write_engine, "commit") as commits:
        futures = _at_once(server, list(zip(runs, [bad, *steps], strict=True)), commits)
        with pytest.raises(ConflictError, match="other content"):
            futures[0].result()
        assert [future.result().accepted for future in futures[1:]] == [1] * 7
    # One of them is that of the work that held the writer.
    assert len(commits) == 2
    assert [server.get(f"/runs/{run.id}/steps")["total"] for run in runs] == [1] + [2] * 7


def test_writers_that_wait_share_the_statements_of_one(server: LiveServer) -> None:
    runs = [server.launch() for _ in range(8)]
    for run in runs:
        _record(server, run, 0, 1)
    with counted(server.services.database.write_engine, "before_cursor_execute") as statements:
        futures = _at_once(server, [(run, step_message(2)) for run in runs], statements)
        assert [future.result().accepted for future in futures] == [1] * 8
    # And a savepoint with its release, so that all of them can be undone.
    assert len(statements) <= MOST_FOR_A_STEP + 2
    assert [server.get(f"/runs/{run.id}/steps")["total"] for run in runs] == [3] * 8


def test_steps_of_one_run_that_wait_follow_each_other(server: LiveServer) -> None:
    run, other = server.launch(), server.launch()
    told = [(run, 3), (other, 0), (run, 1), (run, 3), (run, 2)]
    futures = _at_once(server, [(one, step_message(number)) for one, number in told])
    assert [future.result().accepted for future in futures] == [1, 1, 1, 0, 1]
    rows = server.get(f"/runs/{run.id}/steps")["items"]
    assert sorted(row["step"] for row in rows) == [1, 2, 3]
    assert server.get(f"/runs/{run.id}")["num_steps"] == 3


def test_ids_of_metrics_are_not_remembered_from_what_was_undone(server: LiveServer) -> None:
    run, catalogue = server.launch(), MetricCatalogue()
    prepared = prepare_steps((step_message(0, metrics={"a": metric(1.0), "b": metric(2.0)}),))

    def work(transaction: Transaction) -> dict[str, int]:
        return catalogue.ids(transaction, open_run(transaction.connection, run.id, 1), prepared)

    def undone(transaction: Transaction) -> None:
        work(transaction)
        raise ConflictError("conflicting-step", "no")

    with pytest.raises(ConflictError):
        server.services.writer.run(undone)
    with counted(server.services.database.write_engine, "before_cursor_execute") as statements:
        ids = server.services.writer.run(work)
        assert any(statement.startswith("INSERT INTO metric_names") for statement in statements)
        statements.clear()
        assert server.services.writer.run(work) == ids
        assert not any("metric_names" in statement for statement in statements)


def test_a_remembered_metric_keeps_its_reduction(server: LiveServer) -> None:
    run = server.launch()
    _record(server, run, 0, 1)
    answer = server.record(run, step_message(2, metrics={"train/loss": metric(1.0, reduction=Reduction.MAX)}))
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["pointer"] == "/steps/0/metrics/train~1loss/reduction"


def _record(server: LiveServer, run: LaunchedRun, *numbers: int) -> None:
    for number in numbers:
        answer = server.record(run, step_message(number))
        assert answer.status_code == 200, answer.text


def _at_once(
    server: LiveServer, told: Sequence[tuple[LaunchedRun, StepMessage]], seen: list[str] | None = None
) -> list[Future[IngestAnswer]]:
    """Record these steps in one transaction, queued in their order. seen: is emptied when all of them wait."""
    with ThreadPoolExecutor(len(told)) as pool:
        release = _held(server)
        futures = []
        for i, (run, step) in enumerate(told):
            futures.append(pool.submit(server.services.ingest.steps, run.id, StepsBatch(attempt=1, steps=(step,))))
            while server.services.writer.num_queued <= i:
                time.sleep(0.001)
        if seen is not None:
            seen.clear()
        release.set()
    return futures


def _held(server: LiveServer) -> threading.Event:
    """Keep the writer busy until the event is set."""
    running, release = threading.Event(), threading.Event()

    def work(_transaction: Transaction) -> None:
        running.set()
        release.wait()

    server.services.writer.submit(work)
    running.wait()
    return release
