"""Being the one server of a SWELL_HOME: holds its lock and says where it listens. `server_record` reads it."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from server.cli.home import make_home
from server.client.server_record import ServerRecord, lock_path, record_path


@contextmanager
def serving(home: Path, url: str) -> Iterator[bool]:
    """Be the one server of this home as long as the block lasts. Yields False when there is one already.

    Raises InvalidError where the home cannot be written to.
    """
    make_home(home)
    with lock_path(home).open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        _write(home, url)
        try:
            yield True
        finally:
            record_path(home).unlink(missing_ok=True)


def _write(home: Path, url: str) -> None:
    record = ServerRecord(pid=os.getpid(), create_time=psutil.Process().create_time(), url=url)
    partial = home / "server.partial"
    partial.write_text(record.model_dump_json(indent=2))
    partial.replace(record_path(home))
