"""What a recorder has not delivered yet: bounded, filled by the training loop, emptied by the sender's thread.

    log_step ──► waiting, bounded ──► checked and written as messages ──► kept in memory, or in a journal on disk
    (the loop's thread: no lock is held long, nothing is checked)         (the sender's thread)

When it is full a step is dropped and counted, and an event tells of it once the server takes records again.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from datetime import UTC, datetime
from typing import Any

import orjson

from orchestrator.contracts.messages import EventMessage
from orchestrator.reporting.journal import Journal, JournalRecord, RecordKind
from server.client.recording.logged_step import LoggedStep
from trainer.contracts.text_model import TextModel

_log = logging.getLogger(__name__)

_MAX_REFUSALS_TOLD = 10
_MAX_REASON_CHARS = 1000


class MemoryJournal:
    """Does what a Journal does, and is gone with its process. Positions count records."""

    def __init__(self) -> None:
        self._lines: deque[tuple[RecordKind, bytes]] = deque()
        self._acknowledged = 0

    @property
    def acknowledged(self) -> int:
        return self._acknowledged

    def __len__(self) -> int:
        """Records that are not acknowledged."""
        return len(self._lines)

    def append(self, kind: RecordKind, body: TextModel) -> None:
        self._lines.append((kind, body.model_dump_json().encode()))

    def append_refusal(self, record: JournalRecord, reason: str) -> None:
        """Nothing: who wants to look at refused records later wants them on disk."""

    def unacknowledged(self, *, max_records: int, max_bytes: int) -> list[JournalRecord]:
        records: list[JournalRecord] = []
        size = 0
        for kind, line in self._lines:
            size += len(line)
            if len(records) == max_records or (records and size > max_bytes):
                break
            start = self._acknowledged + len(records)
            records.append(JournalRecord(kind=kind, body=orjson.loads(line), start=start, end=start + 1))
        return records

    def acknowledge(self, position: int) -> None:
        while self._acknowledged < position:
            self._lines.popleft()
            self._acknowledged += 1

    def close(self) -> None:
        """Nothing is open."""


class Backlog:
    """The queue between a training loop and the sender. Only `offer` and the counts are for the loop's thread."""

    def __init__(self, journal: Journal | MemoryJournal, *, max_steps: int) -> None:
        self._journal = journal
        self._max_steps = max_steps
        self._waiting: deque[LoggedStep] = deque()
        # Held around every use of the journal but not by `offer`, which holds nobody up.
        self._write_lock = threading.RLock()
        self._num_dropped = self._num_dropped_told = 0
        self._num_refused = 0
        self._count_lock = threading.Lock()

    @property
    def num_dropped(self) -> int:
        """Steps that were not recorded: the queue was full, or they were none."""
        return self._num_dropped

    @property
    def num_refused(self) -> int:
        """Records that the server did not take."""
        return self._num_refused

    @property
    def num_waiting(self) -> int:
        """Records in memory."""
        kept = len(self._journal) if isinstance(self._journal, MemoryJournal) else 0
        return len(self._waiting) + kept

    def offer(self, step: LoggedStep) -> bool:
        """Take a step, or drop it where too many wait already."""
        if self.num_waiting >= self._max_steps:
            self.drop()
            return False
        self._waiting.append(step)
        return True

    def drop(self) -> None:
        """Count a step that will not be recorded."""
        with self._count_lock:
            self._num_dropped += 1

    def append(self, kind: RecordKind, body: TextModel) -> None:
        """Add something that is no step, after all steps so far."""
        self.write_out()
        with self._write_lock:
            self._journal.append(kind, body)

    def write_out(self) -> None:
        """Move what waits into the journal."""
        with self._write_lock:
            while self._waiting:
                self._write(self._waiting.popleft())
            if self._num_dropped > self._num_dropped_told:
                self._tell_drops(self._num_dropped)

    @property
    def is_delivered(self) -> bool:
        """Whether the server has answered everything so far."""
        return not self._waiting and not self.unacknowledged(max_records=1, max_bytes=1)

    # What the sender asks of a journal

    @property
    def acknowledged(self) -> int:
        return self._journal.acknowledged

    def unacknowledged(self, *, max_records: int, max_bytes: int) -> list[JournalRecord]:
        self.write_out()
        with self._write_lock:
            return self._journal.unacknowledged(max_records=max_records, max_bytes=max_bytes)

    def acknowledge(self, position: int) -> None:
        with self._write_lock:
            self._journal.acknowledge(position)

    def append_refusal(self, record: JournalRecord, reason: str) -> None:
        self._num_refused += 1
        with self._write_lock:
            self._journal.append_refusal(record, reason)
            if record.kind is RecordKind.STEP and self._num_refused <= _MAX_REFUSALS_TOLD:
                message = f"The server did not take step {record.body['step']}: {reason}"[:_MAX_REASON_CHARS]
                self._tell("recorder.refused", f"refused-{self._num_refused}", message, step=record.body["step"])

    def close(self) -> None:
        self._journal.close()

    def _write(self, step: LoggedStep) -> None:
        try:
            self._journal.append(RecordKind.STEP, step.message())
        except (TypeError, ValueError, OSError) as error:
            _log.warning("step %s is not recorded: %s", step.fields.get("step"), error)
            self.drop()

    def _tell_drops(self, num_dropped: int) -> None:
        message = f"{num_dropped} steps were not recorded: they came faster than the server took them, or were none."
        self._tell("recorder.dropped", f"dropped-{num_dropped}", message, num_dropped=num_dropped)
        self._num_dropped_told = num_dropped

    def _tell(self, kind: str, key: str, message: str, **data: Any) -> None:
        event = EventMessage(key=key, kind=kind, at=datetime.now(UTC), message=message, data=data)
        try:
            self._journal.append(RecordKind.EVENT, event)
        except OSError as error:
            _log.warning("%s (and the journal cannot be written: %s)", message, error)
