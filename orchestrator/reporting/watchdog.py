"""Looks whether the driver moves, and names what stands still: the phase, the actor and its stack.

    every second: open phase ──► too long? ──► signal the busy actors ──► read their stacks in their logs ──► event

A thread of its own; it only tells. Whether a run that stands still shall end is for people to decide.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from orchestrator.contracts.messages import EventMessage
from orchestrator.reporting.stall import PhaseTimes, Stall, suspects
from orchestrator.reporting.timekeeper import DRIVER, OpenPhase, Timekeeper
from trainer.contracts.process_log import STACK_SIGNAL, log_file, pids

_log = logging.getLogger(__name__)

_EVERY_S = 1.0
_STACK_WITHIN_S = 2.0
_MAX_STACK_CHARS = 4_000
_MAX_STACKS = 8


class Watchdog:
    """Of one attempt."""

    def __init__(
        self,
        keeper: Timekeeper,
        *,
        times: PhaseTimes,
        busy: Callable[[], Sequence[str]],
        log_directory: Path,
        tell: Callable[[EventMessage], None],
        every_s: float = _EVERY_S,
    ) -> None:
        """Start to look.

        busy: the actors that the driver waits for.
        log_directory: where every process writes its log and its process id.
        """
        self._keeper = keeper
        self._times = times
        self._busy = busy
        self._log_directory = log_directory
        self._tell = tell
        self._every_s = every_s
        self._told: OpenPhase | None = None
        self._num_told = 0
        self._ended = threading.Event()
        keeper.on_closed = times.close
        self._thread = threading.Thread(target=self._run, name="watchdog", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Look no more. Safe to call twice."""
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._ended.wait(self._every_s):
            try:
                self._look()
            except Exception:  # the edge of the thread: it must not end while the run goes on
                _log.exception("the watchdog cannot tell whether the run stands still")

    def _look(self) -> None:
        phase = self._keeper.open_phase
        if self._told is not None and phase is not self._told:
            self._told = None
            _log.warning("the run goes on")
        if phase is None or self._told is not None:
            return
        stall = self._times.stall(phase.name, self._keeper.now() - phase.since_s)
        if stall is not None:
            self._told = phase
            self._report(stall)

    def _report(self, stall: Stall) -> None:
        busy = list(self._busy()) or [DRIVER]
        stacks = _stacks(self._log_directory, busy[:_MAX_STACKS])
        named = suspects(stacks)
        message = (
            f"The run stands still: {' and '.join(named)} at {stall.phase} for {stall.open_s:.0f} s, "
            f"which takes {stall.median_s:.1f} s as a rule"
        )
        _log.warning("%s", message)
        self._num_told += 1
        self._tell(
            EventMessage(
                key=f"stalled/{self._num_told}",
                kind="stalled",
                at=datetime.now(UTC),
                message=message,
                data={
                    "phase": stall.phase,
                    "actors": list(named),
                    "open_s": stall.open_s,
                    "median_s": stall.median_s,
                    "threshold_s": stall.threshold_s,
                    "busy": busy,
                    "stacks": {
                        actor: "It does not answer." if stack is None else stack[:_MAX_STACK_CHARS]
                        for actor, stack in stacks.items()
                    },
                },
            )
        )


def _stacks(log_directory: Path, actors: Sequence[str]) -> Mapping[str, str | None]:
    """What each actor is at, from the inside; None where it does not say."""
    known = pids(log_directory)
    asked = {actor: _ask(log_file(log_directory, actor), known.get(actor)) for actor in actors}
    deadline = time.monotonic() + _STACK_WITHIN_S
    while time.monotonic() < deadline and any(_answer(log_directory, actor, asked[actor]) is None for actor in actors):
        time.sleep(0.05)
    # A stack comes in several writes.
    time.sleep(0.1)
    return {actor: _answer(log_directory, actor, asked[actor]) for actor in actors}


def _ask(log: Path, pid: int | None) -> int | None:
    """Where in its log the answer will begin; None where nobody can be asked."""
    if pid is None or not log.exists():
        return None
    size = log.stat().st_size
    try:
        os.kill(pid, STACK_SIGNAL)
    except (ProcessLookupError, PermissionError):
        return None
    return size


def _answer(log_directory: Path, actor: str, start: int | None) -> str | None:
    if start is None:
        return None
    with log_file(log_directory, actor).open("rb") as file:
        file.seek(start)
        text = file.read().decode("utf-8", errors="replace")
    return text if "most recent call first" in text else None
