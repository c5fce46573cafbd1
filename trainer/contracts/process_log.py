"""How each process of an attempt writes its log: a file of its own, which the driver follows and passes on.

    DIRECTORY/driver.log, rank-0.log, engine-1.log     what the process says, prints, and leaves when it crashes
    DIRECTORY/rank-0.pid                               its process

Called first of all by whoever lives in a process of its own. A line of a logger begins with time and level; what
belongs to it follows on lines that begin with a tab. SIGUSR1 makes a process write the stacks of its threads.
"""

from __future__ import annotations

import faulthandler
import io
import logging
import os
import signal
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

STACK_SIGNAL = signal.SIGUSR1


class LineFormatter(logging.Formatter):
    """`2026-11-30T12:00:00.123456+00:00 INFO trainer.rank: message`."""

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:  # noqa: ARG002, N802
        """ISO 8601 with microseconds, in UTC."""
        return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="microseconds")

    def format(self, record: logging.LogRecord) -> str:
        """One line, and a tab before each that continues it."""
        return super().format(record).replace("\n", "\n\t")


def log_file(directory: Path, source: str) -> Path:
    """Where `rank 0` writes."""
    return directory / f"{source.replace(' ', '-')}.log"


def source_of(path: Path) -> str:
    """Who writes there."""
    return path.stem.replace("-", " ")


def pids(directory: Path) -> dict[str, int]:
    """The processes of this machine that write here, by source."""
    found = {}
    for path in sorted(directory.glob("*.pid")):
        text = path.read_text()
        if text.isdecimal():
            found[source_of(path)] = int(text)
    return found


def write_process_log(directory: Path, source: str) -> None:
    """Send all that an actor's process logs, prints or leaves into its file, instead of where it went before."""
    path = _open_place(directory, source)
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    os.close(descriptor)
    _log_to(path)
    faulthandler.enable(file=2, all_threads=True)
    faulthandler.register(STACK_SIGNAL, file=2, all_threads=True)
    _announce(path)


def copy_process_log(directory: Path, source: str) -> None:
    """Send what the driver logs and prints into its file too: its own output stays where its job looks for it."""
    path = _open_place(directory, source)
    _log_to(path)
    stacks = path.open("ab", buffering=0)
    faulthandler.register(STACK_SIGNAL, file=stacks, all_threads=True)
    sys.stdout, sys.stderr = _Tee(sys.stdout, path), _Tee(sys.stderr, path)
    _announce(path)


@contextmanager
def failures_logged(what: str) -> Iterator[None]:
    """Write into the log what goes wrong within, and let it go on."""
    try:
        yield
    except Exception:
        logging.getLogger(__name__).exception("%s failed", what)
        raise


class _Tee(io.TextIOBase):
    """A stream that writes into a file as well."""

    def __init__(self, stream: Any, path: Path) -> None:
        self._stream = stream
        self._file = path.open("a", encoding="utf-8", buffering=1)

    def write(self, text: str) -> int:
        self._file.write(text)
        return int(self._stream.write(text))

    def flush(self) -> None:
        self._file.flush()
        self._stream.flush()

    def fileno(self) -> int:
        return int(self._stream.fileno())

    def isatty(self) -> bool:
        return False

    def __getattr__(self, name: str) -> Any:
        """What else a stream has, e.g. `buffer`, is that of the first one."""
        return getattr(self._stream, name)


def _open_place(directory: Path, source: str) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    return log_file(directory, source)


def _announce(path: Path) -> None:
    """Say who writes there. Not before the signal has its handler: without one it would end the process."""
    path.with_suffix(".pid").write_text(str(os.getpid()))


def _log_to(path: Path) -> None:
    handler = logging.FileHandler(path, encoding="utf-8")
    handler.setFormatter(LineFormatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(min(root.level or logging.INFO, logging.INFO))
    # Megatron tells of each step of its own set-up; one line for each request would bury what happens.
    for chatty in ("megatron", "httpx", "httpcore"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
    logging.captureWarnings(capture=True)
    warnings.simplefilter("default", append=True)
