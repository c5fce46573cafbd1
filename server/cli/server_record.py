"""Which server serves a SWELL_HOME: a lock that its process holds, and a file that says where it listens.

The lock goes with its process, however that ends, so that a file left behind by a killed server misleads nobody.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
from pydantic import ValidationError

from server.cli.home import make_home, unusable_home
from trainer.contracts.text_model import TextModel


class ServerRecord(TextModel):
    """A server process."""

    pid: int
    create_time: float
    """Seconds since 1970; with the pid it tells the process from a later one."""
    url: str


@contextmanager
def serving(home: Path, url: str) -> Iterator[bool]:
    """Be the one server of this home as long as the block lasts. Yields False when there is one already.

    Raises CommandError (bad input) where the home cannot be written to.
    """
    make_home(home)
    with _lock_path(home).open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        _write(home, url)
        try:
            yield True
        finally:
            _record_path(home).unlink(missing_ok=True)


def server_of(home: Path) -> ServerRecord | None:
    """The server that serves this home now, or None."""
    if not _is_locked(home):
        return None
    try:
        return ServerRecord.model_validate_json(_record_path(home).read_bytes())
    except (FileNotFoundError, ValidationError):
        # It has the lock and has not said yet where it listens, or it is just ending.
        return None


def _write(home: Path, url: str) -> None:
    record = ServerRecord(pid=os.getpid(), create_time=psutil.Process().create_time(), url=url)
    partial = home / "server.partial"
    partial.write_text(record.model_dump_json(indent=2))
    partial.replace(_record_path(home))


def _is_locked(home: Path) -> bool:
    try:
        with _lock_path(home).open("r") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except BlockingIOError:
        return True
    except OSError as error:
        raise unusable_home(home, error) from error
    return False


def _lock_path(home: Path) -> Path:
    return home / "server.lock"


def _record_path(home: Path) -> Path:
    return home / "server.json"
