"""The port of what starts, watches and ends the jobs of runs. `server/supervisor/` implements it."""

from __future__ import annotations

from enum import StrEnum
from typing import Protocol


class RayState(StrEnum):
    """What is known of the Ray cluster that runs go to."""

    ANSWERS = "answers"
    SILENT = "silent"
    """It lives and does not answer."""
    NOT_STARTED = "not_started"
    """No run has needed it yet, or it has ended; the next run starts it."""
    NOT_USED = "not_used"
    """This server starts no runs."""


class RunSupervisor(Protocol):
    """Works in a thread of its own; the app starts it with itself and stops it at the end."""

    def start(self) -> None:
        """Begin to work. Returns at once; everything slow happens in the supervisor's thread."""
        ...

    def wake(self) -> None:
        """Something changed: look at the runs now, not at the next round. Safe from any thread; never blocks."""
        ...

    def ray_state(self) -> RayState:
        """Ask the cluster now. Returns within two seconds; safe from any thread."""
        ...

    def stop(self) -> None:
        """Leave the jobs as they are and end the thread. Returns within two seconds."""
        ...


class NoSupervisor:
    """For a server that records runs and starts none."""

    def ray_state(self) -> RayState:
        return RayState.NOT_USED

    def start(self) -> None:
        pass

    def wake(self) -> None:
        pass

    def stop(self) -> None:
        pass
