"""When a phase has been open for so long that something must be wrong, and who is to blame. Pure.

Called by `watchdog.py`. What is long is learned from the run itself: a phase is judged by its own kind.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

_REMEMBERED = 101
"""Closed phases of a kind that the median is of: lengths change while a policy learns."""

_WAITS = re.compile(r"torch/distributed/|pipeline_parallel/p2p_communication|distributed/param_and_grad_buffer")
"""Where a rank is that waits for its peers: in a collective, for a pipeline's neighbour, for reduced gradients."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StallRule:
    """A phase stalls when it is open longer than max(floor, factor × median of those that ended)."""

    floor_s: float = 30.0
    factor: float = 6.0
    min_closed: int = 3
    """Before so many have ended, nothing is known of how long they take."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stall:
    """A phase that is open for too long."""

    phase: str
    open_s: float
    median_s: float
    threshold_s: float


class PhaseTimes:
    """How long the phases of a run took, by kind."""

    def __init__(self, rule: StallRule | None = None) -> None:
        self._rule = rule or StallRule()
        self._closed: defaultdict[str, deque[float]] = defaultdict(lambda: deque(maxlen=_REMEMBERED))

    def close(self, phase: str, seconds: float) -> None:
        """Learn from a phase that has ended."""
        self._closed[phase].append(seconds)

    def stall(self, phase: str, open_s: float) -> Stall | None:
        """What to say of a phase that is open for so long; None while that is nothing special."""
        closed = list(self._closed.get(phase, ()))
        if len(closed) < self._rule.min_closed:
            return None
        typical_s = median(closed)
        threshold_s = max(self._rule.floor_s, self._rule.factor * typical_s)
        if open_s <= threshold_s:
            return None
        return Stall(phase=phase, open_s=open_s, median_s=typical_s, threshold_s=threshold_s)


def suspects(stacks: Mapping[str, str | None]) -> Sequence[str]:
    """Of actors that are busy, those that the others wait for: all of them where nobody stands out.

    stacks: of each actor; None where it did not answer, which is reason enough.
    """
    not_waiting = [actor for actor, stack in stacks.items() if stack is None or not _WAITS.search(stack)]
    return not_waiting or list(stacks)
