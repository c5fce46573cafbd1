"""Asks the server: typed answers, problems as exceptions, and another try where that cannot do something twice."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import httpx
from pydantic import TypeAdapter, ValidationError

from server.client.problem import NoServerError, SwellError, error_of, local_problem
from server.client.recording.attempt import is_loopback
from server.client.retrying import send_with_retries

Answer = TypeVar("Answer")
_ANSWER_S = 120.0
"""Longest for the content of an answer from its first byte on; a page of records over a slow line takes seconds."""
Params = Sequence[tuple[str, str]]


class Connection:
    """One server, asked with one token. Safe from any thread."""

    def __init__(self, *, url: str, token: str, max_retries: int, transport: httpx.BaseTransport | None = None) -> None:
        self.url = url.rstrip("/")
        self._max_retries = max_retries
        self._http = httpx.Client(
            base_url=f"{self.url}/api/v1",
            headers={"Authorization": f"Bearer {token}"},
            timeout=httpx.Timeout(30.0, connect=5.0),
            # A proxy cannot reach a server on this machine's loopback.
            trust_env=not is_loopback(self.url),
            transport=transport,
        )

    def close(self) -> None:
        self._http.close()

    def ask(
        self,
        answer: type[Answer],
        method: str,
        path: str,
        *,
        params: Params = (),
        json: Any = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """One request. A GET, and one with an Idempotency-Key, is tried again after a broken connection.

        Raises:
            SwellError: the server refused, or does not answer.
        """
        request = self._http.build_request(method, path, params=list(params), json=json, headers=headers)
        with self._answer(request) as response:
            content = _read(response, within_s=_ANSWER_S)
            # A server that is newer than this client says more than the client knows.
            try:
                return TypeAdapter(answer).validate_json(content, extra="ignore")
            except ValidationError as error:
                raise _not_understood(response, error) from error

    def send(self, method: str, path: str) -> None:
        """As `ask`, where the answer has no content."""
        with self._answer(self._http.build_request(method, path)):
            pass

    @contextmanager
    def stream(self, path: str, *, params: Params = ()) -> Iterator[Iterator[bytes]]:
        """The content of an answer, piece by piece. Raises SwellError, also when the connection breaks on the way."""
        with self._answer(self._http.build_request("GET", path, params=list(params))) as response:
            yield response.iter_bytes()

    @contextmanager
    def _answer(self, request: httpx.Request) -> Iterator[httpx.Response]:
        try:
            response = send_with_retries(
                lambda: self._http.send(request, stream=True),
                max_retries=self._max_retries,
                is_repeatable=request.method == "GET" or "idempotency-key" in request.headers,
            )
            try:
                if response.is_error:
                    response.read()
                    raise error_of(response)
                yield response
            finally:
                response.close()
        except httpx.HTTPError as error:
            detail = f"No Swell server answers at {self.url}: {error or type(error).__name__}"
            raise NoServerError(local_problem("no-server", "No server", detail)) from error


def _read(response: httpx.Response, *, within_s: float) -> bytes:
    """The whole content. httpx itself waits for each piece anew, for ever when they are small enough."""
    began, pieces = time.monotonic(), []
    for piece in response.iter_bytes():
        pieces.append(piece)
        if time.monotonic() - began > within_s:
            told = f"the answer was not here whole within {within_s:g} s"
            raise httpx.ReadTimeout(told, request=response.request)
    return b"".join(pieces)


def _not_understood(response: httpx.Response, error: ValidationError) -> SwellError:
    first = error.errors()[0]
    where = ".".join(map(str, first["loc"])) or "the whole"
    detail = f"{response.url} answered something else than expected: {where}: {first['msg']}; is it a Swell server?"
    return SwellError(local_problem("not-understood", "Answer not understood", detail))
