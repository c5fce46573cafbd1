"""Which server serves a SWELL_HOME: a lock that its process holds, and a file that says where it listens.

The lock goes with its process, however that ends, so that a file left behind by a killed server misleads nobody.
`server/cli/serving.py` writes what is read here.
"""

from __future__ import annotations

import fcntl
from pathlib import Path

from pydantic import ValidationError

from server.client.problem import InvalidError, local_problem
from trainer.contracts.text_model import TextModel


class ServerRecord(TextModel):
    """A server process."""

    pid: int
    create_time: float
    """Seconds since 1970; with the pid it tells the process from a later one."""
    url: str


def server_of(home: Path) -> ServerRecord | None:
    """The server that serves this home now, or None. Raises InvalidError where the home cannot be read."""
    if not _is_locked(home):
        return None
    try:
        return ServerRecord.model_validate_json(record_path(home).read_bytes())
    except (FileNotFoundError, ValidationError):
        # It has the lock and has not said yet where it listens, or it is just ending.
        return None


def lock_path(home: Path) -> Path:
    return home / "server.lock"


def record_path(home: Path) -> Path:
    return home / "server.json"


def unusable_home(home: Path, error: OSError) -> InvalidError:
    """The problem that the operating system told of."""
    detail = f"SWELL_HOME={home}: {error.strerror or error}; point it at a directory that you may write to."
    return InvalidError(local_problem("unusable-home", "SWELL_HOME cannot be used", detail))


def _is_locked(home: Path) -> bool:
    try:
        with lock_path(home).open("r") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except BlockingIOError:
        return True
    except OSError as error:
        raise unusable_home(home, error) from error
    return False
