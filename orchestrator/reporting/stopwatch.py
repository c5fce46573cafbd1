"""When something began, by the clock on the wall, and how long ago that is, by one that nobody sets back."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime


class Stopwatch:
    """Runs from the moment it is made."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        """clock: seconds; one that stands still makes this stopwatch stand still too."""
        self._clock = clock
        self.started_at = datetime.now(UTC)
        self.start_s = clock()

    @property
    def seconds(self) -> float:
        """Seconds since it was made."""
        return self._clock() - self.start_s
