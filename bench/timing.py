"""How long work takes: the best of several runs, in seconds of this process.

The processor's time, not the clock's: other processes of a shared machine would be measured with it. For work of one
thread that waits for nothing, as the scheduler's is, the two are the same on an idle machine.
"""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

NUM_REPEATS = 5


def best_s(work: Callable[[], T], num_repeats: int = NUM_REPEATS) -> tuple[float, T]:
    """Seconds of the fastest run, and its result."""
    seconds = math.inf
    for _ in range(num_repeats):
        gc.collect()
        began = time.process_time()
        result = work()
        seconds = min(seconds, time.process_time() - began)
    return seconds, result
