"""The Python client against answers that no server of ours gives: what it tries again, and what it tells."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import httpx
import pytest

from orchestrator.contracts.run_state import RunState
from server.client import (
    NoServerError,
    SwellClient,
    SwellError,
)
from tests.server.test_client_watch import a_run

Answering = Callable[[httpx.Request], httpx.Response]


def faked(answer: Answering, max_retries: int = 4) -> SwellClient:
    return SwellClient(
        url="http://127.0.0.1:1", token="t", max_retries=max_retries, transport=httpx.MockTransport(answer)
    )


def in_turn(*answers: httpx.Response | Exception) -> tuple[Answering, list[httpx.Request]]:
    """One answer after the other, and what was asked."""
    left, asked = list(answers), list[httpx.Request]()

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        now = left.pop(0)
        if isinstance(now, Exception):
            raise now
        return now

    return answer, asked


def the_run() -> httpx.Response:
    return httpx.Response(200, text=a_run(RunState.RUNNING).model_dump_json())


@pytest.mark.parametrize(
    "trouble", [httpx.ReadError("broken"), httpx.ConnectError("away"), httpx.Response(502), httpx.Response(503)]
)
def test_what_can_be_repeated_is_tried_again(trouble: httpx.Response | Exception) -> None:
    answer, asked = in_turn(trouble, the_run())
    with faked(answer) as client:
        assert client.show("run_" + "0" * 26).name == "demo"
    assert len(asked) == 2


def test_a_submit_is_repeated_with_the_same_key() -> None:
    answer, asked = in_turn(httpx.ReadTimeout("slow"), the_run())
    with faked(answer) as client:
        client.submit({})
    assert len({request.headers["idempotency-key"] for request in asked}) == 1
    assert len(asked) == 2


def test_what_might_be_done_twice_is_not_tried_again() -> None:
    answer, asked = in_turn(httpx.ReadError("broken"))
    with faked(answer) as client, pytest.raises(NoServerError):
        client.clone("run_" + "0" * 26)
    assert len(asked) == 1
    answer, asked = in_turn(httpx.ConnectError("away"), httpx.Response(429), the_run())
    with faked(answer) as client:
        client.clone("run_" + "0" * 26)
    assert len(asked) == 3


def test_retry_after_is_kept_to(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    monkeypatch.setattr("tenacity.nap.time.sleep", waits.append)
    busy = [httpx.Response(429, headers={"Retry-After": after}) for after in ("7", "3600", "soon")]
    answer, _ = in_turn(*busy, the_run())
    with faked(answer) as client:
        client.show("run_" + "0" * 26)
    assert waits == [7.0, 60.0, 0.4]


def test_the_last_trouble_is_told_when_all_tries_are_used_up() -> None:
    answer, asked = in_turn(*[httpx.ConnectError("refused")] * 3)
    with faked(answer, max_retries=2) as client, pytest.raises(NoServerError, match="refused"):
        client.runs()
    assert len(asked) == 3
    answer, asked = in_turn(httpx.Response(503, text="<html>"))
    with faked(answer, max_retries=0) as client, pytest.raises(SwellError, match="is it a Swell server"):
        client.runs()


@pytest.mark.parametrize("status", [502, 503, 504])
def test_a_proxy_without_a_server_is_no_server(status: int) -> None:
    answer, _ = in_turn(httpx.Response(status, text="<html>"))
    with faked(answer, max_retries=0) as client, pytest.raises(NoServerError) as caught:
        client.runs()
    assert caught.value.status == status


def test_an_answer_that_comes_drop_by_drop_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    moments = itertools.count(step=20.0)
    monkeypatch.setattr("server.client.connection.time.monotonic", lambda: next(moments))
    drops = itertools.repeat(b" ")
    answer, _ = in_turn(httpx.Response(200, content=drops))
    with faked(answer) as client, pytest.raises(NoServerError, match="was not here whole within 120 s"):
        client.runs()


def test_news_go_on_after_the_server_was_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("server.client.patience.POLL_S", 0.0)
    resync = {"event": "resync", "data": {}}
    first = httpx.Response(200, json={"cursor": "a", "events": []})
    later = httpx.Response(200, json={"cursor": "b", "events": [resync]})
    answer, asked = in_turn(first, httpx.ConnectError("away"), httpx.Response(502), later)
    with faked(answer, max_retries=0) as client:
        assert next(client.live()).event == "resync"
    assert [request.url.params.get("cursor") for request in asked] == [None, "a", "a", "a"]


def test_an_answer_that_is_not_swells_is_told_and_one_of_a_newer_server_is_taken() -> None:
    newer = a_run(RunState.RUNNING).model_dump(mode="json") | {"mood": "good"}
    answer, _ = in_turn(httpx.Response(200, json=newer), httpx.Response(200, text="<html>hello</html>"))
    with faked(answer) as client:
        assert client.show("run_" + "0" * 26).name == "demo"
        with pytest.raises(SwellError, match="is it a Swell server"):
            client.show("run_" + "0" * 26)
