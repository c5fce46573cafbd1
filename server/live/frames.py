"""Frames of steps: merged when several are recorded within one frame's time, and written as server-sent events."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from server.live.schemas import StepsFrame


def merge_frames(frames: Sequence[StepsFrame]) -> StepsFrame:
    """One frame with the steps of all, in their order. All are of the same run and attempt; none may be missing.

    A metric that one of them lacks is null there.
    """
    if len(frames) == 1:
        return frames[0]
    names = dict.fromkeys(chain.from_iterable(frame.metrics for frame in frames))
    return StepsFrame.model_construct(
        run=frames[0].run,
        attempt=frames[0].attempt,
        step=tuple(chain.from_iterable(frame.step for frame in frames)),
        samples=tuple(chain.from_iterable(frame.samples for frame in frames)),
        tokens=tuple(chain.from_iterable(frame.tokens for frame in frames)),
        time=tuple(chain.from_iterable(frame.time for frame in frames)),
        relative=tuple(chain.from_iterable(frame.relative for frame in frames)),
        metrics={
            name: tuple(chain.from_iterable(frame.metrics.get(name, (None,) * len(frame.step)) for frame in frames))
            for name in names
        },
    )


def server_sent_event(*, event_id: str, event: str, data: str) -> bytes:
    """One event on the wire. `data` is JSON on one line."""
    return f"id: {event_id}\nevent: {event}\ndata: {data}\n\n".encode()
