"""A connection whose requests must say who they are in time: without it, uvicorn waits for ever for half a head.

A head is the first line of a request and its headers. `server/serve.py` gives each connection one of these.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

MAX_HEAD_BYTES = 64 * 1024
"""The parser itself knows no bound, and keeps what it has read. It is counted from a head's second packet on."""
_CLOSING = b"content-length: 0\r\nconnection: close\r\n\r\n"


class BoundedHeads(HttpToolsProtocol):
    """Closes a connection that has begun no request, or not ended its head, within `head_deadline_s`.

    Between requests uvicorn's own shorter deadline holds, until something arrives again.
    """

    def __init__(self, *of_uvicorn: Any, head_deadline_s: float, **named: Any) -> None:
        super().__init__(*of_uvicorn, **named)
        self._head_deadline_s = head_deadline_s
        self._deadline: asyncio.TimerHandle | None = None
        self._is_in_head = False
        self._num_head_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait_for_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        was_in_head = self._is_in_head
        super().data_received(data)
        if was_in_head and self._is_in_head:
            self._num_head_bytes += len(data)
            if self._num_head_bytes > MAX_HEAD_BYTES:
                self._refuse(431)
                return
        if self._deadline is None and (self.cycle is None or self.cycle.response_complete):
            self._wait_for_head()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._is_in_head, self._num_head_bytes = True, 0

    def on_headers_complete(self) -> None:
        self._is_in_head = False
        self._stop_waiting()
        super().on_headers_complete()

    def _wait_for_head(self) -> None:
        if not self.transport.is_closing():
            self._deadline = self.loop.call_later(self._head_deadline_s, self._give_up)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _give_up(self) -> None:
        self._deadline = None
        if self._is_in_head:
            self._refuse(408)
        else:
            self.transport.close()

    def _refuse(self, status: int) -> None:
        self._stop_waiting()
        if not self.transport.is_closing():
            self.transport.write(STATUS_LINE[status] + _CLOSING)
            self.transport.close()
