"""Why a rank failed, as data that crosses processes, and how the failures of several ranks become one message. Pure."""

from __future__ import annotations

import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class RankFailure:
    """One rank's exception or death."""

    rank: int
    cause: str
    """Exception type and message, or how the process ended."""
    traceback: str = ""
    step: int | None = None
    micro_batch: int | None = None
    is_consequence: bool = False
    """A collective broke or timed out: somebody else stopped first."""
    at: float = field(default_factory=time.time)

    @property
    def place(self) -> str:
        where = [f"rank {self.rank}"]
        if self.step is not None:
            where.append(f"step {self.step} of this iteration")
        if self.micro_batch is not None:
            where.append(f"micro-batch {self.micro_batch}")
        return ", ".join(where)


def failure_of(error: BaseException, *, rank: int, step: int | None, micro_batch: int | None) -> RankFailure:
    """Describe an exception in the process where it was raised."""
    text = "".join(traceback.format_exception(error))
    return RankFailure(
        rank=rank,
        cause=f"{type(error).__name__}: {error}",
        traceback=text,
        step=step,
        micro_batch=micro_batch,
        is_consequence=_broke_in_collective(error, text),
    )


def describe_failures(failures: Sequence[RankFailure]) -> str:
    """The first cause with its traceback, then one line for each other rank."""
    first, *others = sorted(failures, key=lambda failure: (failure.is_consequence, failure.at))
    lines = [f"{first.place}: {first.cause}", first.traceback.rstrip()]
    lines += [f"then {other.place}: {other.cause.splitlines()[0]}" for other in others]
    return "\n".join(line for line in lines if line)


def _broke_in_collective(error: BaseException, text: str) -> bool:
    """Gloo reports a lost peer as a plain RuntimeError: told by where it was raised."""
    return isinstance(error, RuntimeError) and ("torch/distributed/" in text or "gloo" in str(error).lower())
