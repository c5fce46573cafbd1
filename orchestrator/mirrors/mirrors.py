"""All mirrors of an attempt. `start_mirrors` is called by `orchestrator/main.py`, the rest by the reporter."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from orchestrator.contracts.messages import EventMessage, StepMessage
from orchestrator.contracts.tracking_spec import MlflowTracking, TensorboardTracking, TrackingSpec, WandbTracking
from orchestrator.mirrors.mirror import Mirror, MirroredRun, Outcome
from orchestrator.mirrors.mirror_thread import MirrorThread
from orchestrator.mirrors.mlflow_mirror import MlflowMirror
from orchestrator.mirrors.step_values import mirrored_step
from orchestrator.mirrors.tensorboard_mirror import TensorboardMirror
from orchestrator.mirrors.wandb_mirror import WandbMirror

_CLOSE_WITHIN_S = 20.0
"""For all of them together; a run that has ended is not held up longer by trackers."""
_MAX_MESSAGE_CHARS = 2000

TellEvent = Callable[[EventMessage], None]


class Mirrors:
    """Any number of mirrors; with none of them it does nothing."""

    def __init__(self, threads: Sequence[MirrorThread], *, close_within_s: float = _CLOSE_WITHIN_S) -> None:
        self._threads = threads
        self._close_within_s = close_within_s

    def step(self, message: StepMessage) -> None:
        """Pass a step on. Returns at once, and raises nothing."""
        if self._threads:
            step = mirrored_step(message)
            for thread in self._threads:
                thread.step(step)

    def close(self, outcome: Outcome) -> None:
        """Let them send what is left. A mirror that is not done in time is left behind."""
        deadline = time.monotonic() + self._close_within_s
        for thread in self._threads:
            thread.end(outcome)
        for thread in self._threads:
            thread.wait(max(0.0, deadline - time.monotonic()))


def start_mirrors(
    tracking: Sequence[TrackingSpec], run: MirroredRun, tell: TellEvent, *, close_within_s: float = _CLOSE_WITHIN_S
) -> Mirrors:
    """Begin to mirror. tell: takes the one warning of a mirror that is in trouble."""
    return Mirrors(
        [
            MirrorThread(mirror_of(spec), name=spec.type, run=run, warn=_warning(tell, spec.type, i))
            for i, spec in enumerate(tracking)
        ],
        close_within_s=close_within_s,
    )


def mirror_of(spec: TrackingSpec) -> Mirror:
    """The mirror that a spec asks for; its library is not imported yet."""
    match spec:
        case WandbTracking():
            return WandbMirror(spec)
        case TensorboardTracking():
            return TensorboardMirror(spec)
        case MlflowTracking():
            return MlflowMirror(spec)


def _warning(tell: TellEvent, name: str, index: int) -> Callable[[str], None]:
    def warn(message: str) -> None:
        tell(
            EventMessage(
                key=f"mirror-{index}",
                kind="mirror.failed",
                at=datetime.now(UTC),
                message=message[:_MAX_MESSAGE_CHARS],
                data={"mirror": name},
            )
        )

    return warn
