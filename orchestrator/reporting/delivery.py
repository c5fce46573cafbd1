"""What the server's answer to a message means for its sender. Pure: the reporter acts on it."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from http import HTTPStatus

STALE_ATTEMPT = "stale-attempt"
"""Last part of the `type` of the problem that fences off the writers of older attempts."""

_WAIT_FIRST_S = 0.1
_WAIT_LONGEST_S = 5.0
"""A server that comes back is found within this time."""
_RETRY_AFTER_LONGEST_S = 60.0
"""A longer Retry-After is taken for a mistake: meanwhile no heartbeat would tell that the run is alive."""


class Verdict(StrEnum):
    """What to do after an answer."""

    DELIVERED = "delivered"
    """The server has it: go on."""
    RETRY = "retry"
    """It could not take it now: the same message again, later."""
    REFUSED = "refused"
    """It will never take this message; others may pass."""
    FENCED = "fenced"
    """It will take nothing more from this attempt: the driver has to end."""


def judge(status: int, problem_type: str) -> Verdict:
    """What an HTTP status means. `problem_type` is the `type` of a problem+json answer, empty without one."""
    match status:
        case HTTPStatus.OK | HTTPStatus.CREATED | HTTPStatus.ACCEPTED:
            return Verdict.DELIVERED
        case HTTPStatus.CONFLICT if problem_type.rstrip("/").endswith(STALE_ATTEMPT):
            return Verdict.FENCED
        # A token that is no longer good and a run that is gone mean the same: nobody waits for these records.
        case HTTPStatus.UNAUTHORIZED | HTTPStatus.FORBIDDEN | HTTPStatus.NOT_FOUND | HTTPStatus.GONE:
            return Verdict.FENCED
        case HTTPStatus.REQUEST_TIMEOUT | HTTPStatus.TOO_EARLY | HTTPStatus.TOO_MANY_REQUESTS:
            return Verdict.RETRY
        case _ if 400 <= status < 500:
            return Verdict.REFUSED
        case _:
            return Verdict.RETRY


def retry_after_s(header: str | None) -> float | None:
    """Seconds that a Retry-After header asks for, or None when it asks for nothing that we understand."""
    if header is None or not header.strip().isdecimal():
        return None
    return min(float(header), _RETRY_AFTER_LONGEST_S)


def waits_s() -> Iterator[float]:
    """How long to wait before each further try, without end: doubling, up to five seconds."""
    wait_s = _WAIT_FIRST_S
    while True:
        yield wait_s
        wait_s = min(2 * wait_s, _WAIT_LONGEST_S)
