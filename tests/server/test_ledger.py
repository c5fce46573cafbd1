from __future__ import annotations

import pytest

from server.ledger.books import ledger_of
from server.rollouts.schemas import IterationBooks
from tests.server.factories import START, step_message
from tests.server.live_server import LiveServer
from tests.server.record_factories import group_message, iteration_message, post, rollout_message


@pytest.fixture
def server(shared_server: LiveServer) -> LiveServer:
    return shared_server


def books(iteration: int, **changes: object) -> IterationBooks:
    nothing: dict[str, object] = dict.fromkeys(IterationBooks.model_fields, 0)
    fields = nothing | {
        "iteration": iteration,
        "attempt": 1,
        "started_at": START,
        "ended_at": START,
        "first_step": iteration,
        "num_steps": 1,
        "num_generated": 4,
        "num_trained": 4,
        "filtered": {},
        "dropped": {},
        "pruned_at": None,
    }
    return IterationBooks.model_validate(fields | changes)


def test_what_goes_from_one_iteration_to_the_next_is_inside() -> None:
    told = [
        books(0, num_trained=2, num_carried_out=2),
        books(1, num_carried_in=2, num_trained=3, filtered={"a": 2}, dropped={"b": 1}),
        books(2, filtered={"a": 1, "c": 1}, num_trained=2),
    ]
    ledger = ledger_of(told, {0: 2, 1: 3, 2: 2}, max_flows=2)
    assert ledger.balanced
    assert ledger.total is not None
    assert (ledger.total.num_generated, ledger.total.num_trained) == (12, 7)
    assert (ledger.total.filtered, ledger.total.dropped) == ({"a": 3, "c": 1}, {"b": 1})
    assert [(flow.first_iteration, flow.last_iteration, flow.num_carried_in) for flow in ledger.flows] == [
        (0, 1, 0),
        (2, 2, 0),
    ]


@pytest.mark.parametrize(
    ("told", "trained", "sentence"),
    [
        ([books(0), books(2)], {}, "Iterations 1 to 1 are not recorded."),
        ([books(0, num_trained=3, num_carried_out=1), books(1)], {}, "carried 1 rollouts on; iteration 1 took 0 up"),
        ([books(0)], {0: 3}, "4 rollouts were trained; its recorded steps trained 3"),
    ],
)
def test_books_that_do_not_balance_say_where(
    told: list[IterationBooks], trained: dict[int, int], sentence: str
) -> None:
    ledger = ledger_of(told, trained, max_flows=10)
    assert not ledger.balanced
    assert ledger.num_problems == 1
    assert sentence in ledger.problems[0].detail


def test_a_run_whose_beginning_is_missing_does_not_balance() -> None:
    assert ledger_of([books(2)], {}, max_flows=10).balanced
    ledger = ledger_of([books(2)], {}, max_flows=10, begins_at=0)
    assert (ledger.balanced, ledger.problems[0].detail) == (False, "Iterations 0 to 1 are not recorded.")


@pytest.mark.stack
def test_the_ledger_of_a_run_and_of_a_range_balance(server: LiveServer) -> None:
    run = server.launch()
    assert server.get(f"/runs/{run.id}/ledger") == {
        "balanced": True,
        "problems": [],
        "num_problems": 0,
        "total": None,
        "flows": [],
    }
    nothing = group_message("g", [rollout_message("x", fate="filtered", reason="zero_variance", step=None)])
    post(server, run, "rollouts", *(iteration_message(i) for i in range(3)))
    post(server, run, "rollouts", iteration_message(3, [nothing], first_step=None, num_steps=0))
    post(server, run, "rollouts", iteration_message(4, first_step=3))
    server.record(run, *(step_message(i) for i in range(3)), step_message(3, iteration=4))
    ledger = server.get(f"/runs/{run.id}/ledger")
    assert ledger["balanced"], ledger["problems"]
    assert (ledger["total"]["num_generated"], ledger["total"]["num_trained"]) == (17, 16)
    assert ledger["total"]["filtered"] == {"zero_variance": 1}
    assert len(ledger["flows"]) == 5
    part = server.get(f"/runs/{run.id}/ledger", **{"from": 2, "to": 4})
    assert (part["total"]["first_iteration"], part["total"]["last_iteration"]) == (2, 4)
    assert server.get(f"/runs/{run.id}/ledger", **{"from": 9})["total"] is None
    assert len(server.get(f"/runs/{run.id}/ledger", max_flows=2)["flows"]) == 2


@pytest.mark.stack
def test_steps_that_contradict_the_books_are_said_loudly(server: LiveServer) -> None:
    run = server.launch()
    post(server, run, "rollouts", iteration_message(0, num_generated=5, num_carried_out=1))
    server.record(run, step_message(0, lengths=(5, 6)))
    ledger = server.get(f"/runs/{run.id}/ledger")
    assert (ledger["balanced"], ledger["problems"][0]["iteration"]) == (False, 0)


@pytest.mark.stack
def test_superseded_iterations_are_left_out(server: LiveServer) -> None:
    run = server.launch()
    post(server, run, "rollouts", *(iteration_message(i) for i in range(3)))
    second = server.next_attempt(run)
    post(server, second, "rollouts", iteration_message(1))
    ledger = server.get(f"/runs/{run.id}/ledger")
    assert (ledger["balanced"], ledger["total"]["num_generated"]) == (True, 8)
