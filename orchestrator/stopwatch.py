"""When something began, by the clock on the wall, and how long ago that is, by one that nobody sets back."""

from __future__ import annotations

import time
from datetime import UTC, datetime


class Stopwatch:
    """Runs from the moment it is made."""

    def __init__(self) -> None:
        self.started_at = datetime.now(UTC)
        self._start_s = time.perf_counter()

    @property
    def seconds(self) -> float:
        """Seconds since it was made."""
        return time.perf_counter() - self._start_s
