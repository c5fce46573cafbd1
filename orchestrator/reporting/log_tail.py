"""Follows the log files of an attempt's processes, whichever there are, and gives what they say as entries.

Called by `log_shipper.py`. The files are on disk already: whatever is not read yet waits there.
"""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from orchestrator.contracts.log_messages import LogLine
from orchestrator.reporting.log_lines import LineParser
from trainer.contracts.process_log import source_of

_MAX_READ_BYTES = 262_144
"""Of a file at once: a process that floods its log delays the others' lines by no more."""
_QUIET = timedelta(seconds=1)
"""After that an entry has no more lines to come."""


class LogTail:
    """The files of one directory."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._files: dict[Path, _Followed] = {}

    def read(self, *, is_end: bool = False) -> Sequence[LogLine]:
        """What has been written since the last call, as far as it is whole.

        is_end: nothing more will be written, so that the last lines are whole too.
        """
        now = datetime.now(UTC)
        lines: list[LogLine] = []
        for path in sorted(self._directory.glob("*.log")):
            followed = self._files.setdefault(path, _Followed(path))
            lines += followed.read(now, is_end=is_end)
        return lines


class _Followed:
    """One file, as far as it has been read."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._position = 0
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._parser = LineParser(source_of(path))
        self._grown_at = datetime.now(UTC)

    def read(self, now: datetime, *, is_end: bool) -> Sequence[LogLine]:
        with self._path.open("rb") as file:
            file.seek(self._position)
            data = file.read(_MAX_READ_BYTES)
        if data:
            self._position += len(data)
            self._grown_at = now
            lines = self._parser.feed(self._decoder.decode(data), now=now)
            if not is_end or len(data) == _MAX_READ_BYTES:
                return lines
            return [*lines, *self._parser.flush(now=now)]
        return self._parser.flush(now=now) if is_end or now - self._grown_at >= _QUIET else []
