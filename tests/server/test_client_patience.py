"""Following a run's logs while the server, the network or the token goes away."""

from __future__ import annotations

import pytest

from orchestrator.contracts.run_state import RunState
from server.client.log_reader import LogQuery, follow
from server.client.patience import PATIENCE_S, Patience
from server.client.problem import NoServerError, SwellError, local_problem
from server.logs.schemas import LogLineOut, LogPage
from server.runs.schemas import Run
from tests.server.factories import START
from tests.server.test_client_watch import AWAY, a_run

REVOKED = SwellError(local_problem("unauthorized", "Unauthorized", "the token is revoked"))


def page(*ids: int, after: int, has_newer: bool = False) -> LogPage:
    items = tuple(
        LogLineOut(id=i, attempt=1, source="driver", number=i, at=START, level="info", text=f"line {i}") for i in ids
    )
    return LogPage(items=items, next_before=None, next_after=after, has_newer=has_newer, sources=("driver",))


class ScriptedLogs:
    """Answers and fails one after the other; the last pages come after the run has ended."""

    def __init__(self, *answers: LogPage | SwellError, states: tuple[RunState | SwellError, ...]) -> None:
        self._answers, self._states = list(answers), list(states)
        self.asked_after: list[int | None] = []

    def show(self, run: str) -> Run:
        state = self._states.pop(0)
        if isinstance(state, SwellError):
            raise state
        return a_run(state)

    def log_page(
        self, query: LogQuery, *, before: int | None = None, after: int | None = None, limit: int = 200
    ) -> LogPage:
        self.asked_after.append(after)
        answer = self._answers.pop(0)
        if isinstance(answer, SwellError):
            raise answer
        return answer


def followed(server: ScriptedLogs) -> list[int]:
    return [line.id for line in follow(server, LogQuery(run="demo"), tail=10, sleep=lambda _: None)]


def test_a_server_that_restarts_costs_no_line_and_doubles_none() -> None:
    running, ended = RunState.RUNNING, RunState.SUCCEEDED
    server = ScriptedLogs(
        page(1, 2, after=2),
        *(page(3, after=3, has_newer=True), AWAY, AWAY, page(4, after=4), page(after=4), page(5, after=5)),
        states=(AWAY, running, running, AWAY, running, ended),
    )
    assert followed(server) == [1, 2, 3, 4, 5]
    assert server.asked_after == [None, 2, 3, 3, 3, 4, 4]


def test_a_run_that_ends_while_it_is_followed_ends_the_following_after_its_last_line() -> None:
    pages = (page(after=0), page(1, after=1, has_newer=True), page(2, after=2))
    assert followed(ScriptedLogs(*pages, states=(RunState.FAILED, RunState.FAILED))) == [1, 2]


def test_a_token_that_is_revoked_ends_the_following_at_once() -> None:
    server = ScriptedLogs(page(1, after=1), states=(RunState.RUNNING, REVOKED))
    server._answers.append(page(after=1))
    with pytest.raises(SwellError) as caught:
        followed(server)
    assert caught.value is REVOKED


def test_a_server_that_stays_away_ends_the_following(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("server.client.patience.time.monotonic", lambda: now[0])

    def pass_time(seconds: float) -> None:
        now[0] += seconds

    def silent() -> None:
        now[0] += 30.0  # a connection that is half open is given up so late
        raise AWAY

    patience = Patience(pass_time)
    with pytest.raises(NoServerError):
        patience.ask(silent)
    assert PATIENCE_S < now[0] <= PATIENCE_S + 31.0
    patience.ask(lambda: None)
    with pytest.raises(NoServerError):
        patience.ask(silent)
    assert now[0] > 2 * PATIENCE_S, "what is waited for begins anew with each answer"
