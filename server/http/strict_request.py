"""A request whose body is bounded, JSON by its content type, and free of what JSON doesn't have."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import orjson
from starlette.requests import ClientDisconnect, Request

from server.http.doubled_keys import doubled_key
from server.http.problems import FieldProblem, ProblemError
from server.settings import Settings

_GZIP_WINDOW = 16 + zlib.MAX_WBITS
_DRAINED_LIMITS = 4
"""A body that is refused is read to its end when it is at most so many times as large as the largest allowed one."""


_DRAIN_TIMEOUT_S = 2.0


class StrictRequest(Request):
    """Takes the place of FastAPI's request in front of every endpoint with a body."""

    _has_more = True

    async def body(self) -> bytes:
        if not hasattr(self, "_body"):
            raw = await self._in_time()
            if raw:
                self._check_content_type()
            self._body = _decoded(raw, self.headers.get("content-encoding", "identity").lower(), self._limit)
        return self._body

    async def json(self) -> Any:
        """Raises a problem that names the place: NaN and Infinity are no JSON, and a key said twice is a mistake."""
        body = await self.body()
        try:
            value = orjson.loads(body)
        except orjson.JSONDecodeError as error:
            raise ProblemError(
                400,
                "malformed-json",
                f"The body is not JSON at line {error.lineno}, column {error.colno} (offset {error.pos}): {error.msg}. "
                'Write NaN and infinities as the strings "NaN", "Infinity" and "-Infinity".',
            ) from None
        if b"\\u0000" in body and _has_nul(value):
            raise ProblemError(400, "malformed-json", "A text in the body holds the character U+0000; leave it out.")
        if (at := doubled_key(body, value)) is not None:
            told = "is said twice; say it once"
            raise ProblemError(400, "malformed-json", f"{at}: {told}", errors=[FieldProblem(pointer=at, detail=told)])
        return value

    async def drain(self) -> None:
        """Read and forget what is left of the body: closing before would take the answer away from the client."""
        budget = _DRAINED_LIMITS * self._limit
        # A client that announces more than it sends must not keep its answer, nor one that leaves become an error.
        with suppress(TimeoutError, ClientDisconnect):
            async with asyncio.timeout(_DRAIN_TIMEOUT_S):
                async for chunk in self._chunks():
                    budget -= len(chunk)
                    if budget < 0:
                        return

    @property
    def _settings(self) -> Settings:
        settings: Settings = self.app.state.services.settings
        return settings

    @property
    def _limit(self) -> int:
        return self._settings.max_body_bytes

    async def _chunks(self) -> AsyncIterator[bytes]:
        while self._has_more:
            message = await self.receive()
            self._has_more = message["type"] == "http.request" and message.get("more_body", False)
            if message["type"] == "http.disconnect":
                raise ClientDisconnect
            yield message.get("body", b"")

    async def _in_time(self) -> bytes:
        deadline_s = self._settings.body_deadline_s
        try:
            async with asyncio.timeout(deadline_s):
                return await self._bounded(self._limit)
        except TimeoutError:
            detail = f"The body was not here whole within {deadline_s:g} s; send it in smaller parts."
            raise ProblemError(408, "slow-body", detail, headers={"Connection": "close"}) from None

    async def _bounded(self, limit: int) -> bytes:
        length = self.headers.get("content-length", "")
        if length.isdigit() and int(length) > limit:
            raise _too_large(limit)
        chunks: list[bytes] = []
        size = 0
        async for chunk in self._chunks():
            size += len(chunk)
            if size > limit:
                raise _too_large(limit)
            chunks.append(chunk)
        return b"".join(chunks)

    def _check_content_type(self) -> None:
        given = self.headers.get("content-type", "")
        if given.split(";")[0].strip().lower() != "application/json":
            raise ProblemError(
                415, "unsupported-media-type", f"content-type is {given!r}; send the body as application/json."
            )


def _decoded(raw: bytes, encoding: str, limit: int) -> bytes:
    if encoding == "identity":
        return raw
    if encoding != "gzip":
        raise ProblemError(
            415, "unsupported-media-type", f"content-encoding is {encoding!r}; send gzip or no encoding."
        )
    stream = zlib.decompressobj(_GZIP_WINDOW)
    try:
        body = stream.decompress(raw, limit + 1)
    except zlib.error as error:
        raise ProblemError(400, "malformed-gzip", f"The body cannot be unpacked: {error}.") from None
    if len(body) > limit:
        raise _too_large(limit)
    if not stream.eof:
        raise ProblemError(400, "malformed-gzip", "The compressed body ends early.")
    if stream.unused_data:
        # Taken silently, the rest of what was sent would be lost.
        raise ProblemError(400, "malformed-gzip", "Something follows the compressed body; send one gzip member.")
    return body


def _too_large(limit: int) -> ProblemError:
    return ProblemError(
        413,
        "too-large",
        f"The body is larger than {limit} bytes; send it in parts.",
    )


def _has_nul(value: Any) -> bool:
    if isinstance(value, str):
        return "\0" in value
    if isinstance(value, dict):
        return any(_has_nul(key) or _has_nul(item) for key, item in value.items())
    return isinstance(value, list) and any(map(_has_nul, value))
