"""Finding and ending processes of ours, each checked before it is touched.

A process is known by its pid and creation time, or by an environment variable that Ray hands down to every process
that a head or a job starts. Nothing is ever ended by its name.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress

import psutil

# Creation times are computed from the boot time, which moves when the clock is set.
_SAME_START_S = 2.0


def find(pid: int, create_time: float) -> psutil.Process | None:
    """The living process with this pid that was created at this time (seconds since 1970), or None."""
    try:
        process = psutil.Process(pid)
        if abs(process.create_time() - create_time) > _SAME_START_S:
            return None
    except psutil.Error:
        return None
    return process if is_alive(process) else None


def is_alive(process: psutil.Process) -> bool:
    """Whether it runs; a zombie only waits for its parent and counts as dead."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def tagged(name: str, value: str) -> list[psutil.Process]:
    """All living processes of this user whose environment had `name=value` when they started."""
    return [process for process in psutil.process_iter() if _has_tag(process, name, value) and is_alive(process)]


def end(processes: Iterable[psutil.Process], *, grace_s: float) -> list[int]:
    """Ask processes to end, kill those that have not after `grace_s`, and return the pids that are left even then."""
    chosen = [process for process in processes if is_alive(process)]
    for process in chosen:
        with suppress(psutil.Error):
            process.terminate()
    _, alive = psutil.wait_procs(chosen, timeout=grace_s)
    return kill(alive)


def kill(processes: Iterable[psutil.Process]) -> list[int]:
    """Kill processes at once and return the pids that are left even then."""
    chosen = [process for process in processes if is_alive(process)]
    for process in chosen:
        with suppress(psutil.Error):
            process.kill()
    _, alive = psutil.wait_procs(chosen, timeout=3.0)
    return [process.pid for process in alive if is_alive(process)]


def pids(processes: Sequence[psutil.Process]) -> list[int]:
    return [process.pid for process in processes]


def _has_tag(process: psutil.Process, name: str, value: str) -> bool:
    try:
        return process.environ().get(name) == value
    except (psutil.Error, OSError):
        # Another user's process, or one that ended while we looked.
        return False
