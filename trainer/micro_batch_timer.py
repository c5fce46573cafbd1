"""Measures forward and backward of each micro-batch, by answering as Megatron's `config.timers`.

Megatron's pipeline schedules start and stop a named timer around computation, apart from communication:
"forward-compute" (the loss included) and "backward-compute", each in the order of the micro-batches.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from time import perf_counter

from trainer.contracts.span import Activity, Span


class Stopwatch:
    """One named timer: when each start and stop was, in order."""

    def __init__(self, wait: Callable[[], None]) -> None:
        self._wait = wait
        self.passes: list[tuple[float, float]] = []
        self._started_at = 0.0

    def start(self, barrier: bool = False) -> None:  # noqa: ARG002  Megatron would wait for all ranks here
        """What is timed begins."""
        self._wait()
        self._started_at = perf_counter()

    def stop(self, barrier: bool = False) -> None:  # noqa: ARG002
        """What is timed has ended."""
        self._wait()
        self.passes.append((self._started_at, perf_counter()))


class MicroBatchTimer:
    """The timers of one step."""

    def __init__(self, wait: Callable[[], None] = lambda: None) -> None:
        """wait: returns when the device has done what it was given; a GPU would else be timed before it begins."""
        self._stopwatches: defaultdict[str, Stopwatch] = defaultdict(lambda: Stopwatch(wait))
        self.micro_batch_of_pass: Sequence[int] | None = None
        """Where a micro-batch goes through a rank several times (interleaved pipeline): whose each pass is."""

    def __call__(self, name: str, log_level: int | None = None) -> Stopwatch:  # noqa: ARG002
        return self._stopwatches[name]

    @property
    def num_forwarded(self) -> int:
        """Micro-batches whose forward is done, or whose last pass has begun: the index of the one that runs now."""
        passes = len(self._stopwatches["forward-compute"].passes)
        return passes if self.micro_batch_of_pass is None else max(self.micro_batch_of_pass[: passes + 1])

    def micro_batch_s(self) -> list[float]:
        """Seconds of forward and backward of each micro-batch."""
        totals: defaultdict[int, float] = defaultdict(float)
        for _, micro_batch, (start, end) in self._passes():
            totals[micro_batch] += end - start
        return [totals[micro_batch] for micro_batch in range(len(totals))]

    def spans(self, *, skipped: Sequence[bool]) -> list[Span]:
        """When the micro-batches ran, but for skipped ones. A backward right after its forward makes one span of both.

        skipped: for each micro-batch.
        """
        spans: list[Span] = []
        before: tuple[str, int] | None = None
        for name, micro_batch, (start, end) in sorted(self._passes(), key=lambda one: one[2]):
            if skipped[micro_batch]:
                continue
            follows = name == "backward-compute" and before == ("forward-compute", micro_batch)
            since = spans.pop().start_s if follows else start
            spans.append(Span(activity=Activity.FORWARD_BACKWARD, start_s=since, end_s=end))
            before = name, micro_batch
        return spans

    def _passes(self) -> list[tuple[str, int, tuple[float, float]]]:
        """Every pass: its timer, its micro-batch, its start and end."""
        return [
            (name, k if self.micro_batch_of_pass is None else self.micro_batch_of_pass[k], one)
            for name in ("forward-compute", "backward-compute")
            for k, one in enumerate(self._stopwatches[name].passes)
        ]
