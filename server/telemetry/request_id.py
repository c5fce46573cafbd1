"""The id of the request that is being answered: told in its answer, and in every line that is logged meanwhile."""

from __future__ import annotations

import re
import secrets
from contextvars import ContextVar

HEADER = "X-Request-Id"
_GIVEN = re.compile(r"[A-Za-z0-9._-]{1,64}", re.ASCII)

current_request_id: ContextVar[str | None] = ContextVar("current_request_id", default=None)


def request_id(given: str | None) -> str:
    """The id that the client gave, if it is one that a log line can hold; otherwise a new one."""
    return given if given is not None and _GIVEN.fullmatch(given) else secrets.token_hex(8)
