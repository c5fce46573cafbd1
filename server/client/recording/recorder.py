"""Records the steps of a training loop that is not Swell's own. It never holds the loop up, and never breaks it.

    loop's thread   log_step() ──► backlog, bounded
    sender's thread backlog ──► POST, until it is answered;   a heartbeat every two seconds

Only the process that made it records: in a forked child (a data loader's worker) every call does nothing. Under
data parallelism one rank records, usually rank 0.
"""

from __future__ import annotations

import atexit
import logging
import os
import threading
import time
import traceback
from collections.abc import Mapping
from datetime import UTC, datetime
from operator import index
from types import TracebackType
from typing import Any, Literal, Self, SupportsFloat, Unpack

import httpx

from orchestrator.contracts.messages import Heartbeat, MetricMessage, ScheduleMessage, StateReport
from orchestrator.reporting.journal import Journal, RecordKind
from orchestrator.reporting.sender import Sender
from server.client.recording.attempt import RecordedAttempt
from server.client.recording.backlog import Backlog, MemoryJournal
from server.client.recording.logged_step import LoggedStep, MetricValue, StepFields, copied_metrics

_log = logging.getLogger(__name__)

MAX_QUEUED_STEPS = 10_000
_TIMEOUT_S = 30.0
_FINISH_TIMEOUT_S = 30.0
_EXIT_TIMEOUT_S = 5.0
"""How long a process that ends without `finish` is held up for what it has not sent."""
_LOOK_AGAIN_S = 0.02
_MAX_ACTIVITY_CHARS = 200
_MAX_REASON_CHARS = 10_000

Outcome = Literal["succeeded", "failed", "stopped"]


class Recorder:
    """One attempt of an external run. Made by `SwellClient.start_external`; safe from any thread.

        with client.start_external(name="my-run", config={"lr": 1e-4}) as recorder:
            for step, batch in enumerate(batches):
                loss = train(batch)
                recorder.log_step(step=step, global_batch_size=len(batch), metrics={"train/loss": loss})
                if recorder.should_stop:
                    break

    An exception that leaves the block makes the run `failed`, with the traceback as its reason.
    """

    def __init__(
        self,
        attempt: RecordedAttempt,
        *,
        journal: Journal | None = None,
        total_steps: int | None = None,
        max_queued_steps: int = MAX_QUEUED_STEPS,
    ) -> None:
        """journal: where records are kept until they are delivered, over the end of the process; None: in memory."""
        self._attempt = attempt
        self._pid = os.getpid()
        self._total_steps = total_steps
        self._num_steps = 0
        self._activity = ""
        self._last_end = datetime.now(UTC)
        self._finished = False
        self._backlog = Backlog(journal or MemoryJournal(), max_steps=max_queued_steps)
        self._http = httpx.Client(
            headers={"Authorization": f"Bearer {attempt.ingest_token}"},
            timeout=_TIMEOUT_S,
            trust_env=not attempt.is_on_this_machine,
        )
        self._sender = Sender(
            journal=self._backlog,
            http=self._http,
            run_url=attempt.run_url,
            attempt=attempt.number,
            heartbeat=self._heartbeat,
        )
        self._thread = threading.Thread(target=self._send, name="swell-recorder", daemon=True)
        self._thread.start()
        atexit.register(self._leave)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.finish()
        elif isinstance(error, Exception):
            self.finish("failed", reason=_reason(error))
        else:
            # Ctrl-C, or a polite end of the process: somebody wanted it.
            self.finish("stopped")

    @property
    def run_id(self) -> str:
        return self._attempt.run_id

    @property
    def url(self) -> str:
        """The run in the dashboard."""
        return f"{self._attempt.server_url}/runs/{self._attempt.run_id}"

    @property
    def num_dropped(self) -> int:
        """Steps that were not recorded: too many waited for the server, or they were none."""
        return self._backlog.num_dropped

    @property
    def num_refused(self) -> int:
        """Records that the server did not take; the run's events say why."""
        return self._backlog.num_refused

    @property
    def should_stop(self) -> bool:
        """Whether somebody has cancelled the run, or the server takes nothing more from it."""
        return self._sender.stop_requested

    @property
    def should_pause(self) -> bool:
        """Whether somebody wants the run to wait; `wait_while_paused` does."""
        return self._sender.pause_requested

    def wait_while_paused(self) -> None:
        """Return when the run may go on, or should stop: at once, unless it should pause."""
        if self._is_ours:
            self._sender.wait_while_paused()

    def log_step(
        self,
        *,
        step: int,
        global_batch_size: int,
        metrics: Mapping[str, MetricValue] | None = None,
        schedule: ScheduleMessage | Mapping[str, Any] | None = None,
        num_tokens: int | None = None,
        lr: SupportsFloat | None = None,
        **fields: Unpack[StepFields],
    ) -> None:
        """Record one optimizer update. Returns at once and never raises; what is wrong is logged and counted.

        step: from 0 on; a step that is logged again with other numbers is refused by the server. global_batch_size:
        its samples over all ranks. metrics: a number; `(value, weight)`, where weight is how many things (tokens,
        samples) it is the mean of, so that averages over several steps are right; or a `Metric`. A tensor of one
        number is waited for. schedule: which sample ran where, see `plain_schedule`. Without `started_at` the step
        has begun where the one before it ended.
        """
        if not self._is_ours:
            return
        try:
            # Whole numbers of NumPy and torch are none of Python's.
            told = dict(fields, step=index(step), global_batch_size=index(global_batch_size))
            told["num_tokens"] = None if num_tokens is None else index(num_tokens)
            told["lr"] = None if lr is None else float(lr)
            self._log(told, copied_metrics(metrics or {}), schedule)
        except Exception:
            # A training loop outlives whatever it says of itself.
            _log.warning("step %r is not recorded", step, exc_info=True)
            self._backlog.drop()

    def activity(self, text: str) -> None:
        """What the run is at, for the dashboard, e.g. `evaluating`."""
        self._activity = str(text)[:_MAX_ACTIVITY_CHARS]

    def flush(self, *, timeout_s: float = _FINISH_TIMEOUT_S) -> bool:
        """Wait until the server has every step so far, at most `timeout_s`; returns whether it has. Never raises."""
        if not self._is_ours or self._finished:
            return False
        try:
            self._wait_until_delivered(time.monotonic() + timeout_s)
            return self._backlog.is_delivered
        except Exception:
            _log.warning("it is not known what has been delivered of %s", self.run_id, exc_info=True)
            return False

    def close(self) -> None:
        """End without a word on how the run ended, and without waiting. What a journal holds stays there."""
        if not self._is_ours or self._finished:
            return
        self._finished = True
        atexit.unregister(self._leave)
        self._end()

    def finish(
        self, outcome: Outcome | None = None, *, reason: str | None = None, timeout_s: float = _FINISH_TIMEOUT_S
    ) -> bool:
        """Tell how the run ended, and wait until the server has everything, at most `timeout_s`. Never raises.

        outcome: None: `stopped` if the run should have stopped, else `succeeded`. Returns whether all is delivered;
        what is not is lost, unless the recorder keeps a journal. Does nothing when called again.
        """
        if not self._is_ours or self._finished:
            return not self._finished
        self._finished = True
        atexit.unregister(self._leave)
        try:
            return self._finish(outcome or ("stopped" if self.should_stop else "succeeded"), reason, timeout_s)
        except Exception:
            _log.warning("the end of %s could not be told", self.run_id, exc_info=True)
            return False

    @property
    def _is_ours(self) -> bool:
        return os.getpid() == self._pid

    def _log(
        self,
        told: dict[str, Any],
        metrics: dict[str, MetricMessage],
        schedule: ScheduleMessage | Mapping[str, Any] | None,
    ) -> None:
        now = datetime.now(UTC)
        # A clock that is set back makes a step of no length, not one that ends before it begins.
        told.setdefault("started_at", min(self._last_end, now))
        told["ended_at"] = now
        self._last_end = now
        if self._finished:
            raise ValueError("the recorder is finished")
        if self._backlog.offer(LoggedStep(fields=told, metrics=metrics, schedule=schedule)):
            self._num_steps = max(self._num_steps, told["step"] + 1)
            self._sender.wake()

    def _finish(self, outcome: Outcome, reason: str | None, timeout_s: float) -> bool:
        report = StateReport(
            attempt=self._attempt.number,
            outcome=outcome,
            at=datetime.now(UTC),
            reason=None if reason is None else reason[:_MAX_REASON_CHARS],
        )
        # First the rest: what the server says of the last steps may be worth an event, and nothing follows the state.
        deadline = time.monotonic() + timeout_s
        self._wait_until_delivered(deadline)
        self._backlog.append(RecordKind.STATE, report)
        self._sender.wake()
        self._thread.join(max(0.0, deadline - time.monotonic()))
        is_delivered = not self._thread.is_alive() and self._backlog.is_delivered
        if not is_delivered:
            _log.warning("the server does not have everything of %s, and it is not waited for longer", self.run_id)
        self._end()
        return is_delivered

    def _wait_until_delivered(self, deadline: float) -> None:
        self._sender.wake()
        while not self._backlog.is_delivered and self._thread.is_alive() and time.monotonic() < deadline:
            self._thread.join(_LOOK_AGAIN_S)

    def _end(self) -> None:
        self._sender.end()
        # One request may be under way; the thread cannot be ended, and is left behind with the process.
        self._thread.join(1.0)
        if not self._thread.is_alive():
            self._http.close()
            self._backlog.close()

    def _leave(self) -> None:
        """The process ends and nobody said how the run did: send what there is, and leave the rest to the server."""
        if not self._is_ours or self._finished:
            return
        self._finished = True
        self._wait_until_delivered(time.monotonic() + _EXIT_TIMEOUT_S)
        self._end()

    def _send(self) -> None:
        try:
            self._sender.run()
        except Exception:
            _log.exception("the recorder of %s sends nothing more", self.run_id)

    def _heartbeat(self) -> Heartbeat:
        # While the server is away nothing else moves steps into the journal.
        self._backlog.write_out()
        return Heartbeat(
            attempt=self._attempt.number,
            at=datetime.now(UTC),
            activity=self._activity or f"step {self._num_steps}",
            num_steps=self._num_steps,
            total_steps=self._total_steps,
            is_paused=self._sender.is_paused,
        )


def _reason(error: Exception) -> str:
    """The type and the first line of the error, a blank line, the end of the traceback."""
    sentence = ": ".join([type(error).__name__, *str(error).splitlines()[:1]])[: _MAX_REASON_CHARS // 4]
    trace = "".join(traceback.format_exception(error))
    return f"{sentence}\n\n{trace[-(_MAX_REASON_CHARS - len(sentence) - 2) :]}"
