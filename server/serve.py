"""Runs the server in this process until it is told to end. Called by the command line."""

from __future__ import annotations

import asyncio
import gc
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from types import FrameType
from typing import cast

import uvicorn
from fastapi import FastAPI

from server.app import create_app
from server.http.head_bounds import BoundedHeads
from server.services import MakeSupervisor, Services
from server.settings import Settings

_GRACE_S = 2
"""For requests that are under way when the server is told to end; streams end at once, but those that nobody reads."""
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_COLLECT_AFTER = 50_000
"""Objects made before Python looks for cycles. A batch of steps makes thousands, and none of them is in a cycle."""


def serve(settings: Settings, make_supervisor: MakeSupervisor | None = None) -> None:
    """Serve until SIGTERM or SIGINT, then end within five seconds. Returns normally, so that the exit code is 0."""
    server = build_server(settings, create_app(settings, make_supervisor))
    # What is here now stays: to look through it again and again takes a third of the time that recording takes.
    gc.freeze()
    gc.set_threshold(_COLLECT_AFTER)
    server.run()


def build_server(settings: Settings, app: FastAPI) -> SwellServer:
    """A server that is not running yet; its `started` turns true when it listens."""
    config = uvicorn.Config(
        app,
        host=settings.host,
        port=settings.port,
        http=cast("type[asyncio.Protocol]", partial(BoundedHeads, head_deadline_s=settings.head_deadline_s)),
        log_level="warning",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_GRACE_S,
    )
    return SwellServer(config, app.state.services)


class SwellServer(uvicorn.Server):
    """Ends the live streams before it waits for connections, and does not die of the signal that it obeyed."""

    def __init__(self, config: uvicorn.Config, services: Services) -> None:
        super().__init__(config)
        self._services = services

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._services.hub.close()
        super().handle_exit(sig, frame)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await super().shutdown(sockets)
        # To a client that reads nothing the last bytes are never written, so that its connection would never close.
        for connection in list(self.server_state.connections):
            connection.transport.abort()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        # uvicorn raises the signal again when it is done, which would make the exit code 143 instead of 0.
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self.handle_exit) for number in _SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


if __name__ == "__main__":
    # A server that only records. `swell up` is the one that starts runs, too.
    serve(Settings.from_environment())
