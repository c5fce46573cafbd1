"""Passes on what the processes of an attempt write to their logs. A thread of its own; nothing waits for it.

    files ──► LogTail ──► at most one batch in memory ──► POST logs:batch, until the server has it

While the server is away the files grow and nothing else does. What the server refuses stays in its file alone.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence

import httpx

from orchestrator.contracts.log_messages import LogLine, LogsBatch
from orchestrator.reporting.delivery import Verdict, retry_after_s, waits_s
from orchestrator.reporting.log_lines import progress_of
from orchestrator.reporting.log_tail import LogTail
from orchestrator.reporting.post import post

_log = logging.getLogger(__name__)

_EVERY_S = 0.5
_MAX_BATCH_LINES = 500
_MAX_BATCH_CHARS = 500_000

OnProgress = Callable[[str, str], None]
"""Called with a source and what it says of its long work."""


class LogShipper:
    """Of one attempt."""

    def __init__(
        self, tail: LogTail, *, http: httpx.Client, run_url: str, attempt: int, on_progress: OnProgress
    ) -> None:
        self._tail = tail
        self._http = http
        self._url = f"{run_url}/logs:batch"
        self._attempt = attempt
        self._on_progress = on_progress
        self._read: deque[LogLine] = deque()
        self._wake = threading.Event()
        self._is_end = self._is_unwanted = self._ended = False
        self._waits: Iterator[float] | None = None
        self._thread = threading.Thread(target=self._run, name="logs", daemon=True)
        self._thread.start()

    def drain(self, timeout_s: float) -> None:
        """All processes but this one have ended: return when their last lines are delivered, or after so long."""
        self._is_end = True
        self._wake.set()
        self._thread.join(timeout_s)

    def close(self) -> None:
        """End without waiting for the server."""
        self._ended = True
        self._wake.set()
        self._thread.join()

    def _run(self) -> None:
        while not (self._ended or self._is_unwanted):
            is_last = self._is_end
            if not self._read:
                self._read.extend(self._look(is_last))
            if self._read:
                self._deliver(self._next_batch())
            elif is_last:
                return
            else:
                self._sleep(_EVERY_S)

    def _look(self, is_last: bool) -> Sequence[LogLine]:
        lines = self._tail.read(is_end=is_last)
        for line in lines:
            if (progress := progress_of(line)) is not None:
                self._on_progress(line.source, progress)
        return lines

    def _next_batch(self) -> list[LogLine]:
        batch: list[LogLine] = []
        num_chars = 0
        for line in self._read:
            num_chars += len(line.text)
            if batch and (len(batch) == _MAX_BATCH_LINES or num_chars > _MAX_BATCH_CHARS):
                break
            batch.append(line)
        return batch

    def _deliver(self, batch: Sequence[LogLine]) -> None:
        body = LogsBatch(attempt=self._attempt, lines=tuple(batch)).model_dump(mode="json")
        posted = post(self._http, self._url, body)
        match posted.verdict:
            case Verdict.DELIVERED | Verdict.REFUSED:
                # A word about a refusal would be one more line to refuse.
                self._waits = None
                for _ in batch:
                    self._read.popleft()
            case Verdict.RETRY:
                self._try_later(posted.answer)
            case Verdict.FENCED:
                # The run is gone, or the server takes no logs: the sender of records finds out which.
                self._is_unwanted = True

    def _try_later(self, answer: httpx.Response | None) -> None:
        self._waits = self._waits or waits_s()
        asked_s = retry_after_s(answer.headers.get("retry-after")) if answer is not None else None
        self._sleep(max(asked_s or 0.0, next(self._waits)))

    def _sleep(self, seconds: float) -> None:
        """At most so long; a wish to end cuts it short once."""
        if self._wake.wait(seconds):
            self._wake.clear()
