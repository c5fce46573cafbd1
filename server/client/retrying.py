"""When a request is tried again, and after how long: never one that might be done twice."""

from __future__ import annotations

from collections.abc import Callable

import httpx
from tenacity import RetryCallState, Retrying, retry_if_exception, retry_if_result, stop_after_attempt

_NOT_TAKEN = (httpx.codes.TOO_MANY_REQUESTS, httpx.codes.SERVICE_UNAVAILABLE)
"""The server says of itself that it did nothing."""
_PASSED_ON_IN_VAIN = (httpx.codes.BAD_GATEWAY, httpx.codes.GATEWAY_TIMEOUT)
"""A proxy says that the server did not answer, which may have done it all the same."""
_FIRST_WAIT_S = 0.1
_LONGEST_WAIT_S = 60.0

Send = Callable[[], httpx.Response]


def send_with_retries(send: Send, *, max_retries: int, is_repeatable: bool) -> httpx.Response:
    """The first answer that is not worth another try, or the last one. Waits as long as a Retry-After says.

    is_repeatable: whether doing it twice is as good as once; else only what surely was not done is tried again.
    """
    statuses = (*_NOT_TAKEN, *_PASSED_ON_IN_VAIN) if is_repeatable else _NOT_TAKEN
    errors = (httpx.TransportError,) if is_repeatable else (httpx.ConnectError, httpx.ConnectTimeout)
    retrying = Retrying(
        stop=stop_after_attempt(1 + max_retries),
        wait=_wait_s,
        retry=retry_if_exception(lambda error: isinstance(error, errors))
        | retry_if_result(lambda response: response.status_code in statuses),
        before_sleep=_let_go,
        retry_error_callback=lambda state: state.outcome and state.outcome.result(),
    )
    answer: httpx.Response = retrying(send)
    return answer


def _wait_s(state: RetryCallState) -> float:
    backoff_s = min(_FIRST_WAIT_S * 2.0 ** (state.attempt_number - 1), _LONGEST_WAIT_S)
    if state.outcome is None or state.outcome.failed:
        return backoff_s
    answer: httpx.Response = state.outcome.result()
    asked = answer.headers.get("retry-after", "")
    return min(max(backoff_s, float(asked) if asked.isdecimal() else 0.0), _LONGEST_WAIT_S)


def _let_go(state: RetryCallState) -> None:
    """Close an answer that nobody will read."""
    if state.outcome is not None and not state.outcome.failed:
        state.outcome.result().close()
