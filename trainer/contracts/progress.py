"""Tells how far long work has come: in the log of a process, or as a bar where somebody looks on.

    for name in tracked(names, what="loading weights", unit="tensors"): …

A line of the log reads `loading weights: 120 of 290 tensors`; the driver shows the newest one as what the run is at.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Iterator, Sequence
from typing import TypeVar

Item = TypeVar("Item")

_EVERY_S = 2.0
"""As often as a driver tells what it is at."""

log = logging.getLogger("progress")
"""Lines of this logger are for people who wait."""


def tracked(items: Sequence[Item], *, what: str, unit: str) -> Iterator[Item]:
    """The items one by one, telling how many are done."""
    if sys.stderr.isatty():
        yield from _with_bar(items, what, unit)
        return
    told_at = time.monotonic()
    log.info("%s: 0 of %d %s", what, len(items), unit)
    for done, item in enumerate(items):
        if time.monotonic() - told_at >= _EVERY_S:
            told_at = time.monotonic()
            log.info("%s: %d of %d %s", what, done, len(items), unit)
        yield item
    log.info("%s: all %d %s", what, len(items), unit)


def _with_bar(items: Sequence[Item], what: str, unit: str) -> Iterator[Item]:
    # Imported here: in the processes of a run nobody looks on.
    from tqdm import tqdm  # type: ignore[import-untyped]

    yield from tqdm(items, desc=what, unit=f" {unit}")
