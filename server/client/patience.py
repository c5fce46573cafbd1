"""Waits for a server that is away for a while: it restarts, or a proxy or the network in between is down."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from server.client.problem import NoServerError

Answer = TypeVar("Answer")

POLL_S = 1.0
PATIENCE_S = 60.0
"""How long a server may be away before it is given up."""


class Patience:
    """Of one who has asked the server before, and goes on asking. `sleep` takes seconds."""

    def __init__(self, sleep: Callable[[float], None] = time.sleep) -> None:
        self._sleep = sleep
        self._heard_at = time.monotonic()

    def ask(self, question: Callable[[], Answer]) -> Answer:
        """The answer, however often it has to be asked. Raises SwellError when the server stays away, or refuses."""
        while True:
            try:
                answer = question()
            except NoServerError:
                if time.monotonic() - self._heard_at > PATIENCE_S:
                    raise
                self._sleep(POLL_S)
            else:
                self._heard_at = time.monotonic()
                return answer
