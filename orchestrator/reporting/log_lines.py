"""From what a process wrote to entries for the server: level, time, and tracebacks in one piece. Pure.

Called by `log_tail.py` with whatever has come since the last time, which may end in the middle of a line.
"""

from __future__ import annotations

import re
from datetime import datetime

from orchestrator.contracts.log_messages import LogLevel, LogLine

PROGRESS_LOGGER = "progress"

MAX_TEXT_CHARS = 20_000
_MAX_LINE_CHARS = 65_536
"""Of a line that does not end; what comes then is another one."""

_LOGGED = re.compile(
    r"(\d{4}-\d\d-\d\dT\S+[+-]\d\d:\d\d) (DEBUG|INFO|WARNING|ERROR|CRITICAL) ([^\s:]+): (.*)", re.DOTALL
)
"""As `trainer/contracts/process_log.py` writes."""
_LEVELS = {
    "DEBUG": LogLevel.DEBUG,
    "INFO": LogLevel.INFO,
    "WARNING": LogLevel.WARNING,
    "ERROR": LogLevel.ERROR,
    "CRITICAL": LogLevel.ERROR,
}
_BLOCK = re.compile(
    r"Traceback \(most recent call last\)|Fatal Python error|Exception (in thread|ignored in)|Stack \(most recent call"
    r"|(Current t|T)hread 0x"
)
"""How a traceback begins that no logger wrote, or the stacks of a crash."""
_GOES_ON = re.compile(
    r"\s|During handling of the above|The above exception was|Traceback \(most|(Current t|T)hread 0x|Extension modules:"
    r"|Stack \(most recent call"
)
_SOUNDS_BAD = re.compile(r"\b(ERROR|FATAL|CRITICAL|Error:|Segmentation fault|Killed|Aborted)\b|Error: ")
_SOUNDS_ODD = re.compile(r"\b(WARN|WARNING)\b|Warning: ")


class LineParser:
    """Of one source. Entries are numbered from 0."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._rest = ""
        self._number = 0
        self._entry: list[str] = []
        self._at: datetime | None = None
        self._level = LogLevel.INFO
        self._in_block = False
        self._had_error_line = False

    def feed(self, text: str, *, now: datetime) -> list[LogLine]:
        """The entries that are whole by now. now: the time of lines that bear none."""
        *lines, self._rest = (self._rest + text).split("\n")
        if len(self._rest) > _MAX_LINE_CHARS:
            lines, self._rest = [*lines, self._rest], ""
        return [entry for line in lines for entry in self._take(line, now)]

    def flush(self, *, now: datetime) -> list[LogLine]:
        """What is left, when nothing has come for a while: the last entry may be whole."""
        rest, self._rest = self._rest, ""
        return [*(self._take(rest, now) if rest else ()), *self._close()]

    def _take(self, line: str, now: datetime) -> list[LogLine]:
        if self._entry and self._belongs(line):
            self._entry.append(line.removeprefix("\t") if not self._in_block else line)
            return []
        closed = self._close()
        logged = _LOGGED.fullmatch(line)
        if logged is not None and (at := _time(logged[1])) is not None:
            self._open(f"{logged[3]}: {logged[4]}", at, _LEVELS[logged[2]], in_block=False)
        elif _BLOCK.match(line):
            self._open(line, now, LogLevel.ERROR, in_block=True)
        elif line.strip():
            self._open(line, now, _guessed(line), in_block=False)
            closed += self._close()
        return closed

    def _belongs(self, line: str) -> bool:
        """Whether a line continues the entry that is open."""
        if not self._in_block:
            return line.startswith("\t")
        if line == "" or _GOES_ON.match(line):
            self._had_error_line = self._had_error_line and not _BLOCK.match(line)
            return True
        # After the frames comes the error itself, once for each traceback of a chain.
        is_error_line, self._had_error_line = not self._had_error_line, True
        return is_error_line and _LOGGED.fullmatch(line) is None

    def _open(self, text: str, at: datetime, level: LogLevel, *, in_block: bool) -> None:
        self._entry, self._at, self._level = [text], at, level
        self._in_block, self._had_error_line = in_block, False

    def _close(self) -> list[LogLine]:
        if not self._entry or self._at is None:
            return []
        # Databases and browsers make nothing of a NUL.
        text = "\n".join(self._entry).rstrip().replace("\0", "\ufffd")
        line = LogLine(
            source=self._source, number=self._number, at=self._at, level=self._level, text=text[-MAX_TEXT_CHARS:]
        )
        self._entry, self._number = [], self._number + 1
        return [line]


def progress_of(line: LogLine) -> str | None:
    """What a line says of long work that goes on, or None where it is about something else."""
    prefix = f"{PROGRESS_LOGGER}: "
    return line.text.removeprefix(prefix) if line.text.startswith(prefix) else None


def _time(text: str) -> datetime | None:
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return None
    return at if at.tzinfo is not None else None


def _guessed(line: str) -> LogLevel:
    """Of a line that was printed."""
    if _SOUNDS_BAD.search(line):
        return LogLevel.ERROR
    return LogLevel.WARNING if _SOUNDS_ODD.search(line) else LogLevel.INFO
