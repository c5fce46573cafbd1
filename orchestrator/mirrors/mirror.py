"""The port of a tracker: what a mirror's thread asks of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, Protocol

Outcome = Literal["succeeded", "failed", "stopped"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MirroredRun:
    """What a tracker is told of a run as a whole."""

    id: str
    name: str
    attempt: int
    tags: Mapping[str, str]
    config: Mapping[str, Any]
    """The RunSpec as JSON."""
    directory: Path
    """The run's own, for files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MirroredStep:
    """What a tracker is told of a step."""

    step: int
    at: datetime
    """Its end."""
    values: Mapping[str, float]
    """By name, NaN and infinities included; what was not measured is left out."""


class Mirror(Protocol):
    """A tracker. Its methods are called from one thread, which is not the driver's, and may raise anything."""

    def open(self, run: MirroredRun) -> None:
        """Begin, or go on with what an earlier attempt of the run began."""
        ...

    def step(self, step: MirroredStep) -> None: ...

    def close(self, outcome: Outcome) -> None:
        """Send what is left."""
        ...
