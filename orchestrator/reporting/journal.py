"""The record of an attempt on disk: one JSON line for each step, event and so on, written before anything is sent.

The reporter appends in the driver's thread and reads in its own. Beside `attempt.jsonl` lies `attempt.ack`: the
position in bytes up to which the server has everything. A journal never loses a whole line and never sends half of one.
"""

from __future__ import annotations

import logging
import os
import threading
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol

import orjson

from trainer.contracts.text_model import TextModel

_log = logging.getLogger(__name__)


class RecordKind(StrEnum):
    """What a line of the journal holds."""

    STEP = "step"
    """A StepMessage."""
    EVENT = "event"
    """An EventMessage."""
    ITERATION = "iteration"
    """An IterationMessage."""
    CHECKPOINT = "checkpoint"
    """A CheckpointMessage."""
    STATE = "state"
    """The StateReport, last of all."""
    REFUSED = "refused"
    """The server's reason for not taking an earlier line. Never sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalRecord:
    """One line of the journal."""

    kind: RecordKind
    body: dict[str, Any]
    start: int
    """Position of the line's first byte, which names the record."""
    end: int
    """Position after the line: what `acknowledge` wants when the record has been dealt with."""


class RecordQueue(Protocol):
    """What a sender delivers from: a journal, or something that gives up its records in the same way."""

    @property
    def acknowledged(self) -> int: ...

    def unacknowledged(self, *, max_records: int, max_bytes: int) -> list[JournalRecord]: ...

    def acknowledge(self, position: int) -> None: ...

    def append_refusal(self, record: JournalRecord, reason: str) -> None: ...


class Journal:
    """An append-only file with a mark of how much of it has been dealt with. Any thread may call its methods."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self._mark_path = path.with_suffix(".ack")
        self._lock = threading.Lock()
        self._file = path.open("ab")
        self._drop_half_line()
        self._acknowledged = self._read_mark()

    @property
    def acknowledged(self) -> int:
        """Position in bytes up to which every record has been dealt with."""
        return self._acknowledged

    def append(self, kind: RecordKind, body: TextModel) -> None:
        """Write one record. It is on the disk when the call returns."""
        line = b'{"kind":"%s","body":%s}\n' % (kind.encode(), body.model_dump_json().encode())
        self._write(line)

    def append_refusal(self, record: JournalRecord, reason: str) -> None:
        """Note that the server will never take a record, and why."""
        body = {"kind": record.kind, "start": record.start, "reason": reason}
        self._write(orjson.dumps({"kind": RecordKind.REFUSED, "body": body}) + b"\n")

    def unacknowledged(self, *, max_records: int, max_bytes: int) -> list[JournalRecord]:
        """The next records to deal with, in order: at least one if there is any, however long it is."""
        records: list[JournalRecord] = []
        with self.path.open("rb") as lines:
            start = lines.seek(self._acknowledged)
            while len(records) < max_records and (line := lines.readline()).endswith(b"\n"):
                end = start + len(line)
                if records and end - self._acknowledged > max_bytes:
                    break
                records.append(_parse(line, start, end))
                start = end
        return records

    def acknowledge(self, position: int) -> None:
        """Remember, even over a crash, that everything before `position` has been dealt with."""
        temporary = self._mark_path.with_suffix(".ack.tmp")
        temporary.write_text(str(position))
        temporary.replace(self._mark_path)
        self._acknowledged = position

    def close(self) -> None:
        self._file.close()

    def _write(self, line: bytes) -> None:
        with self._lock:
            self._file.write(line)
            self._file.flush()
            os.fsync(self._file.fileno())

    def _drop_half_line(self) -> None:
        """Cut off what a killed writer left unfinished: it was never said to be written."""
        content = self.path.read_bytes()
        whole = content.rfind(b"\n") + 1
        if whole < len(content):
            _log.warning("journal %s ends in half a line: %d bytes cut off", self.path, len(content) - whole)
            self._file.truncate(whole)

    def _read_mark(self) -> int:
        # A mark that is torn, or beyond the end, tells nothing. Sending twice is harmless, skipping is not.
        text = self._mark_path.read_text() if self._mark_path.exists() else ""
        mark = int(text) if text.isdecimal() else 0
        return mark if mark <= self.path.stat().st_size else 0


def _parse(line: bytes, start: int, end: int) -> JournalRecord:
    record = orjson.loads(line)
    return JournalRecord(kind=RecordKind(record["kind"]), body=record["body"], start=start, end=end)
