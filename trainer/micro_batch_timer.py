"""Measures forward and backward of each micro-batch, by answering as Megatron's `config.timers`.

Megatron's pipeline schedules start and stop a named timer around computation, apart from communication:
"forward-compute" (the loss included) and "backward-compute", each in the order of the micro-batches.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from time import perf_counter


class Stopwatch:
    """One named timer: the seconds of each start and stop, in order."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self._started_at = 0.0

    def start(self, barrier: bool = False) -> None:  # noqa: ARG002  Megatron would wait for all ranks here
        self._started_at = perf_counter()

    def stop(self, barrier: bool = False) -> None:  # noqa: ARG002
        self.seconds.append(perf_counter() - self._started_at)


class MicroBatchTimer:
    """The timers of one step."""

    def __init__(self) -> None:
        self._stopwatches: defaultdict[str, Stopwatch] = defaultdict(Stopwatch)
        self.micro_batch_of_pass: Sequence[int] | None = None
        """Where a micro-batch goes through a rank several times (interleaved pipeline): whose each pass is."""

    def __call__(self, name: str, log_level: int | None = None) -> Stopwatch:  # noqa: ARG002
        return self._stopwatches[name]

    @property
    def num_forwarded(self) -> int:
        """Micro-batches whose forward is done, or whose last pass has begun: the index of the one that runs now."""
        passes = len(self._stopwatches["forward-compute"].seconds)
        return passes if self.micro_batch_of_pass is None else max(self.micro_batch_of_pass[: passes + 1])

    def micro_batch_s(self) -> list[float]:
        """Seconds of forward and backward of each micro-batch."""
        forward, backward = (self._stopwatches[name].seconds for name in ("forward-compute", "backward-compute"))
        passes = [first + second for first, second in zip(forward, backward, strict=True)]
        if self.micro_batch_of_pass is None:
            return passes
        totals = [0.0] * (max(self.micro_batch_of_pass) + 1)
        for micro_batch, seconds in zip(self.micro_batch_of_pass, passes, strict=True):
            totals[micro_batch] += seconds
        return totals
