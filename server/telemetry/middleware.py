"""Stands before everything else: gives each request its id, counts its answer, and logs what is worth a line."""

from __future__ import annotations

import logging
import time

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from server.telemetry.figures import ServerFigures
from server.telemetry.request_id import HEADER, current_request_id, request_id

log = logging.getLogger(__name__)

_SLOW_S = 2.0


class Telemetry:
    """Routes leave their path, with its placeholders, in the request's state."""

    def __init__(self, app: ASGIApp, figures: ServerFigures) -> None:
        self._app = app
        self._figures = figures

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        identity = request_id(Headers(scope=scope).get(HEADER))
        token = current_request_id.set(identity)
        state = scope.setdefault("state", {})
        began = time.monotonic()

        async def send_with_id(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)[HEADER] = identity
                self._answered(scope, state.get("route"), message["status"], time.monotonic() - began)
            await send(message)

        try:
            await self._app(scope, receive, send_with_id)
        finally:
            current_request_id.reset(token)

    def _answered(self, scope: Scope, route: str | None, status: int, seconds: float) -> None:
        method = scope["method"]
        self._figures.answered(method=method, route=route, status=status, seconds=seconds)
        if status >= 400 or seconds > _SLOW_S:
            level = logging.WARNING if status >= 500 else logging.INFO
            # The route, not the address: that may hold what only its sender should see.
            log.log(level, "%s %s answered %d after %.0f ms", method, route or "(no route)", status, seconds * 1000)
