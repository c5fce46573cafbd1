"""Bounds how many batches of records are taken at once: each holds its whole body in memory until it is stored."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from server.http.problems import ProblemError


class Gate:
    """Used on the event loop only."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._inside = 0

    @contextmanager
    def passing(self) -> Iterator[None]:
        """Be inside meanwhile. Raises a 429 with Retry-After when it is full."""
        if self._inside >= self._capacity:
            detail = f"{self._capacity} batches are being recorded already; try again."
            raise ProblemError(429, "busy", detail, headers={"Retry-After": "1"})
        self._inside += 1
        try:
            yield
        finally:
            self._inside -= 1
