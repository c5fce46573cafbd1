"""A mirror in a thread of its own, so that the driver never waits for it.

driver's thread   step() ──► queue, bounded ──► mirror's thread ──► the tracker
                               │ full: left out      │ raises, hangs
                               └──────── one warning event, and the run goes on
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable
from functools import partial

from orchestrator.mirrors.mirror import Mirror, MirroredRun, MirroredStep, Outcome

_log = logging.getLogger(__name__)

_MAX_QUEUED_STEPS = 1000
_MAX_FAILURES_IN_A_ROW = 10
"""A network that comes back is waited for; a tracker that takes nothing is left alone."""
_HANGS_AFTER_S = 60.0

Warn = Callable[[str], None]


class MirrorThread:
    """One mirror of one attempt."""

    def __init__(
        self,
        mirror: Mirror,
        *,
        name: str,
        run: MirroredRun,
        warn: Warn,
        max_queued_steps: int = _MAX_QUEUED_STEPS,
        hangs_after_s: float = _HANGS_AFTER_S,
    ) -> None:
        """name: in the words of a warning. warn: called at most once, from either thread."""
        self._mirror = mirror
        self._name = name
        self._run = run
        self._warn = warn
        self._hangs_after_s = hangs_after_s
        self._queue: queue.Queue[MirroredStep | Outcome] = queue.Queue(max_queued_steps)
        self._lock = threading.Lock()
        self._has_warned = self._is_off = False
        self._busy_since: float | None = None
        self._num_left_out = 0
        self._thread = threading.Thread(target=self._work, name=f"mirror {name}", daemon=True)
        self._thread.start()

    @property
    def num_left_out(self) -> int:
        """Steps that did not reach the tracker."""
        return self._num_left_out

    def step(self, step: MirroredStep) -> None:
        """Pass a step on. Returns at once."""
        if self._is_off:
            self._num_left_out += 1
            return
        try:
            self._queue.put_nowait(step)
        except queue.Full:
            self._num_left_out += 1
            self._warn_once("takes steps more slowly than they are trained, and some are left out")
        busy_since = self._busy_since
        if busy_since is not None and time.monotonic() - busy_since > self._hangs_after_s:
            self._warn_once(f"has not answered for {self._hangs_after_s:.0f} s")

    def end(self, outcome: Outcome) -> None:
        """Let the thread send what is left, and end. Returns at once."""
        try:
            self._queue.put_nowait(outcome)
        except queue.Full:
            self._is_off = True

    def wait(self, timeout_s: float) -> None:
        """Wait until the thread has ended. One that hangs is left behind, and ends with the process."""
        self._thread.join(timeout_s)
        if self._thread.is_alive():
            self._warn_once("has not ended, and is not waited for")

    def _work(self) -> None:
        if not self._try(lambda: self._mirror.open(self._run), "could not be opened"):
            self._is_off = True
        failures = 0
        while not self._is_off:
            item = self._queue.get()
            if isinstance(item, MirroredStep):
                failures = 0 if self._mirror_step(item) else failures + 1
                if failures >= _MAX_FAILURES_IN_A_ROW:
                    self._is_off = True
            else:
                self._try(partial(self._mirror.close, item), "could not be closed")
                return

    def _mirror_step(self, step: MirroredStep) -> bool:
        is_done = self._try(lambda: self._mirror.step(step), f"did not take step {step.step}")
        self._num_left_out += not is_done
        return is_done

    def _try(self, action: Callable[[], None], failure: str) -> bool:
        self._busy_since = time.monotonic()
        try:
            action()
        except Exception as error:
            _log.warning("the mirror to %s %s", self._name, failure, exc_info=True)
            self._warn_once(f"{failure}: {error or type(error).__name__}")
            return False
        finally:
            self._busy_since = None
        return True

    def _warn_once(self, what: str) -> None:
        with self._lock:
            if self._has_warned:
                return
            self._has_warned = True
        try:
            self._warn(f"The mirror to {self._name} {what}. The run goes on, and its record here is whole.")
        except Exception:
            # One that is left behind may find that there is nobody any more to be told.
            _log.warning("the mirror to %s %s, which could not be told", self._name, what, exc_info=True)
