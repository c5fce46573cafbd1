"""The thread that watches external runs: lost by silence, ended by a wish that nobody answers; also at start.

Started and ended by the app, on every server. Managed runs have the supervisor's reconciler instead.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from datetime import UTC, datetime

from orchestrator.contracts.run_state import RunState
from server.external.decisions import ExternalDeadlines, ExternalView, decide
from server.runs.records import RunKind, RunRecord
from server.runs.service import RunStore

log = logging.getLogger(__name__)

_ROUND_S = 1.0
_RETRY_S = 5.0
"""After a round that failed."""
_WATCHED = [state for state in RunState if state.has_job and state is not RunState.LOST]


class ExternalWatch:
    """One per server."""

    def __init__(
        self,
        runs: RunStore,
        deadlines: ExternalDeadlines,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._runs = runs
        self._deadlines = deadlines
        self._now = now
        self._started_at = now()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, name="external-watch", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()

    def look(self) -> None:
        """One round: every run that something is due for."""
        for run in self._runs.runs_in(_WATCHED, kind=RunKind.EXTERNAL):
            change = decide(self._view(run), self._deadlines)
            if change is not None:
                self._runs.apply(
                    run.id, change.trigger, reason=change.reason, message=change.message, attempt=run.attempt
                )

    def _work(self) -> None:
        pause_s = _ROUND_S
        while not self._stop.wait(pause_s):
            try:
                self.look()
                pause_s = _ROUND_S
            except Exception:
                log.exception("a look at external runs failed; the next one is in %.0f s", _RETRY_S)
                pause_s = _RETRY_S

    def _view(self, run: RunRecord) -> ExternalView:
        return ExternalView(
            state=run.state,
            silent_s=self._heard_s(run.last_heartbeat_at or run.state_changed_at),
            pausing_s=self._heard_s(run.state_changed_at),
            stopping_s=self._heard_s(run.stop_requested_at) if run.stop_requested_at else 0.0,
            must_be_killed=run.stop_mode == "kill",
        )

    def _heard_s(self, moment: datetime) -> float:
        """Since then, or since the server began: before, a writer could neither speak nor hear."""
        return max(0.0, (self._now() - max(moment, self._started_at)).total_seconds())
