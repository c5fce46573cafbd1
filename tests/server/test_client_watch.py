import pytest

from orchestrator.contracts.run_state import RunState
from server.client.problem import NoServerError, NotFoundError, SwellError, local_problem
from server.client.watch import changes
from server.runs.schemas import Run
from tests.server.factories import START, spec_json

AWAY = NoServerError(local_problem("no-server", "No server", "nobody answers"))
GONE = NotFoundError(local_problem("not-found", "Not found", "no such run"))


class ScriptedClient:
    """Answers one after the other."""

    def __init__(self, *answers: Run | SwellError) -> None:
        self._answers = list(answers)
        self.asked: list[str] = []

    def show(self, run: str) -> Run:
        self.asked.append(run)
        answer = self._answers.pop(0)
        if isinstance(answer, SwellError):
            raise answer
        return answer


def a_run(state: RunState, num_steps: int = 0) -> Run:
    return Run.model_validate(
        {
            "id": "run_1",
            "name": "demo",
            "kind": "managed",
            "state": state,
            "reason": None,
            "activity": None,
            "tags": {},
            "batch_policy": "all",
            "parallelism": "dp 2",
            "attempt": 1,
            "created_at": START,
            "started_at": START,
            "ended_at": None,
            "last_heartbeat_at": START,
            "num_steps": num_steps,
            "total_steps": None,
            "last": None,
            "batch_sizes": (),
            "parent_id": None,
            "priority": 0,
            "archived_at": None,
            "spec": spec_json(),
            "config": None,
            "version": 1,
        }
    )


def watched(client: ScriptedClient) -> list[tuple[RunState, int]]:
    return [(run.state, run.num_steps) for run in changes(client, "demo", sleep=lambda _: None)]


def test_each_change_is_told_once_up_to_the_end() -> None:
    client = ScriptedClient(
        a_run(RunState.RUNNING), a_run(RunState.RUNNING), a_run(RunState.RUNNING, 1), a_run(RunState.SUCCEEDED, 1)
    )
    assert watched(client) == [(RunState.RUNNING, 0), (RunState.RUNNING, 1), (RunState.SUCCEEDED, 1)]
    assert client.asked == ["demo", "run_1", "run_1", "run_1"], "a newer run of the same name must not take its place"


def test_a_server_that_restarts_is_waited_for() -> None:
    client = ScriptedClient(a_run(RunState.RUNNING), AWAY, AWAY, a_run(RunState.FAILED))
    assert watched(client) == [(RunState.RUNNING, 0), (RunState.FAILED, 0)]


def test_a_server_that_never_answered_and_a_run_that_is_not_there_are_told_at_once() -> None:
    for error in (AWAY, GONE):
        with pytest.raises(SwellError) as caught:
            watched(ScriptedClient(error))
        assert caught.value is error
