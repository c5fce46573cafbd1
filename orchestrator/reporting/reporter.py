"""Tells the server what the driver does: into the journal first, then over HTTP from a thread of its own.

    driver's thread   step(), event(), … finish() ──► journal on disk
    sender's thread   journal ──► POST, until it is answered;   a heartbeat every two seconds

A server that is down costs the driver nothing: the thread waits, and then sends what has gathered. No failure to
deliver is raised into the loop; a wish to stop, or an attempt that is fenced off, shows as `stop_requested`, and a wish
to pause holds up the driver's thread in `wait_while_paused`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import httpx

from orchestrator.contracts.checkpoint_messages import CheckpointMessage
from orchestrator.contracts.messages import EventMessage, Heartbeat, StateReport, StepMessage
from orchestrator.contracts.rollout_messages import IterationMessage
from orchestrator.contracts.system_message import SystemSample
from orchestrator.mirrors.mirrors import Mirrors
from orchestrator.reporting.journal import Journal, RecordKind
from orchestrator.reporting.log_shipper import LogShipper
from orchestrator.reporting.log_tail import LogTail
from orchestrator.reporting.sender import Sender
from trainer.contracts.text_model import TextModel

_TIMEOUT_S = 30.0
_MAX_ACTIVITY_CHARS = 200
_BEATS_PER_SAMPLE = 5
_LAST_LINES_S = 5.0
"""How long the end of an attempt waits for its last log lines to be taken."""


class JournalReporter:
    """The `Reporter` of a driver. It sends from the moment it is made, beginning with what the journal still holds."""

    def __init__(
        self,
        *,
        journal: Journal,
        server_url: str,
        run_id: str,
        attempt: int,
        token: str,
        log_directory: Path | None = None,
        sample_system: Callable[[], SystemSample | None] = lambda: None,
    ) -> None:
        """log_directory: where the processes of the attempt write their logs, which are passed on.

        sample_system: asked for every fifth heartbeat.
        """
        self._sample_system = sample_system
        self._num_beats = 0
        self._journal = journal
        self._attempt = attempt
        self._activity: tuple[str, int, int | None] = ("starting", 0, None)
        self._progress: tuple[str, float] | None = None
        self._mirrors = Mirrors(())
        # trust_env: a proxy that is set for the internet must not swallow what is meant for the machine next door.
        self._http = httpx.Client(headers={"Authorization": f"Bearer {token}"}, timeout=_TIMEOUT_S, trust_env=False)
        run_url = f"{server_url.rstrip('/')}/api/v1/runs/{run_id}"
        self._sender = Sender(
            journal=journal,
            http=self._http,
            run_url=run_url,
            attempt=attempt,
            heartbeat=self._heartbeat,
        )
        self._logs: LogShipper | None = None
        if log_directory is not None:
            self._logs = LogShipper(
                LogTail(log_directory),
                http=self._http,
                run_url=run_url,
                attempt=attempt,
                on_progress=self._tell_progress,
            )
        self._thread = threading.Thread(target=self._sender.run, name="sender", daemon=True)
        self._thread.start()

    def mirror_to(self, mirrors: Mirrors) -> None:
        """Pass steps on to these too, from now on; `finish` closes them."""
        self._mirrors = mirrors

    def step(self, message: StepMessage) -> None:
        self._append(RecordKind.STEP, message)
        self._mirrors.step(message)

    def event(self, message: EventMessage) -> None:
        self._append(RecordKind.EVENT, message)

    def iteration(self, message: IterationMessage) -> None:
        self._append(RecordKind.ITERATION, message)

    def checkpoint(self, message: CheckpointMessage) -> None:
        self._append(RecordKind.CHECKPOINT, message)

    def activity(self, text: str, *, num_steps: int, total_steps: int | None) -> None:
        """What the next heartbeats say."""
        self._activity, self._progress = (text, num_steps, total_steps), None

    def _tell_progress(self, source: str, progress: str) -> None:
        self._progress = f"{source}: {progress}", time.monotonic()

    @property
    def stop_requested(self) -> bool:
        """Whether the server wants the attempt to end, or takes nothing more from it."""
        return self._sender.stop_requested

    @property
    def pause_requested(self) -> bool:
        """Whether the server wants the attempt to wait."""
        return self._sender.pause_requested

    def wait_while_paused(self) -> None:
        """Return when the server wants the run to go on or to end: at once, unless it wants it to wait."""
        self._sender.wait_while_paused()

    def finish(self, report: StateReport) -> None:
        """The last record. Returns when the server has everything, or has said that it wants nothing more."""
        # First the mirrors: what goes wrong with them at the end is an event still.
        self._mirrors.close(report.outcome)
        if self._logs is not None:
            # First, while the attempt still lives; a server that is away gets another chance when it is back.
            self._logs.drain(_LAST_LINES_S)
        self._append(RecordKind.STATE, report)
        self._thread.join()
        if self._logs is not None:
            self._logs.drain(_LAST_LINES_S)
        self.close()

    def close(self) -> None:
        """End without waiting for the server. What is not delivered stays in the journal. Safe to call twice."""
        self._sender.end()
        if self._logs is not None:
            self._logs.close()
        self._thread.join()
        self._http.close()
        self._journal.close()

    def _append(self, kind: RecordKind, message: TextModel) -> None:
        self._journal.append(kind, message)
        self._sender.wake()

    def _told_progress(self) -> str:
        """The newest word on long work, and since when nothing newer came: something moves at every heartbeat."""
        progress = self._progress
        if progress is None:
            return ""
        text, told_at = progress
        return f"; {text} ({time.monotonic() - told_at:.0f} s)"

    def _heartbeat(self) -> Heartbeat:
        text, num_steps, total_steps = self._activity
        self._num_beats += 1
        return Heartbeat(
            attempt=self._attempt,
            at=datetime.now(UTC),
            activity=f"{text}{self._told_progress()}"[:_MAX_ACTIVITY_CHARS],
            num_steps=num_steps,
            total_steps=total_steps,
            is_paused=self._sender.is_paused,
            system=self._sample_system() if self._num_beats % _BEATS_PER_SAMPLE == 0 else None,
        )
