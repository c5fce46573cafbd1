"""What each queued run was last said to wait for, and why. Used by the action runner only."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum


class WaitCause(StrEnum):
    """What keeps a queued run from starting."""

    RUNS = "runs"
    """Others, whose turn is before its own."""
    RAY = "ray"
    """A head or a job that Ray does not let start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """A run waits for something."""

    cause: WaitCause
    reason: str
    """For people: nothing is decided by its words."""


class ToldWaits:
    """Of all runs, since the server began."""

    def __init__(self, set_reason: Callable[[str, str | None], None]) -> None:
        """set_reason: writes what a run shows as its reason."""
        self._set_reason = set_reason
        self._told: dict[str, Waiting | None] = {}

    def cause(self, run_id: str) -> WaitCause | None:
        """Why it waits by what was told last; None: it waits for nothing, or nothing was told."""
        told = self._told.get(run_id)
        return None if told is None else told.cause

    def tell(self, run_id: str, waiting: Waiting | None) -> None:
        """Say what the run waits for; None: for nothing any more."""
        # Twice a second is too often for a write that changes nothing.
        if run_id not in self._told or self._told[run_id] != waiting:
            self._set_reason(run_id, None if waiting is None else waiting.reason)
            self._told[run_id] = waiting

    def forget(self, run_id: str) -> None:
        """The run waits no more; should it wait again, that is news."""
        self._told.pop(run_id, None)
