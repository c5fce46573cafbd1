"""Whether whoever began to listen may listen on: an answer without end outlives the check that it began with."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from typing import Protocol

from starlette.concurrency import run_in_threadpool

from server.auth.access import Principal

_CHECK_EVERY_S = 60.0
"""Sessions end by themselves, too."""


class Tokens(Protocol):
    """The tokens of the server: `server.auth.tokens.TokenStore`."""

    @property
    def num_ended(self) -> int: ...

    def remembered(self, token: str) -> Principal | None: ...

    def principal(self, token: str) -> Principal | None: ...


class StandingAccess:
    """Of one request, by the token that it came with."""

    def __init__(self, tokens: Tokens, token: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        """clock: seconds, from any moment on."""
        self._tokens = tokens
        self._token = token
        self._clock = clock
        self._checked_at = clock()
        self._num_ended = tokens.num_ended

    async def while_it_holds(self, parts: AsyncGenerator[bytes]) -> AsyncIterator[bytes]:
        """The parts of an answer, up to the first one that comes when the token is expired, revoked or rotated."""
        async with aclosing(parts):
            async for part in parts:
                if not await self._holds():
                    return
                yield part

    async def _holds(self) -> bool:
        num_ended, now_s = self._tokens.num_ended, self._clock()
        # Ten times a second and for every listener: the database is asked only where the answer may have changed.
        if num_ended == self._num_ended and now_s - self._checked_at < _CHECK_EVERY_S:
            return True
        self._num_ended, self._checked_at = num_ended, now_s
        if self._tokens.remembered(self._token) is not None:
            return True
        return await run_in_threadpool(self._tokens.principal, self._token) is not None
