"""Why a job ended, in words for the run's reason: one sentence, then the last lines that its driver printed."""

from __future__ import annotations

import re
import signal

from server.supervisor.jobs import Job, JobStatus

_MAX_LINES = 40
_MAX_CHARACTERS = 4000
# A shell tells death by a signal as 128 and its number, Python as its number below zero.
_SHELL_SIGNAL = 128
_USUAL_CAUSES = {
    signal.SIGKILL: ", as the system does when memory runs out",
    signal.SIGSEGV: ", as the system does when code outside Python touches memory that is not its own",
    signal.SIGABRT: ", which code outside Python sends itself when it cannot go on",
    signal.SIGTERM: ", which asks a process to end",
}
_ANSI = re.compile(r"\x1b\[[0-9;]*m")
# What Ray writes around the driver's own output, in its message and on the driver's stderr.
_RAY_PREFIX = re.compile(r"^Job entrypoint command failed with exit code (-?\d+), last available logs.*$", re.MULTILINE)
_RAY_LOG_LINE = re.compile(
    r"^(\d{4}-\d\d-\d\d [\d:,]+\s+(INFO|WARNING) \w+\.py:\d+ -- .*|Running entrypoint for job .*)$"
)
# What Python says of libraries' code, with the line that it means: never why a driver ended.
_PYTHON_WARNING = re.compile(r"^\S+\.py:\d+: \w*Warning: .*\n(?:[ \t]+\S.*\n?)?", re.MULTILINE)


def ended_reason(job: Job) -> str:
    """Say why a job ended that has not reported so itself.

    >>> ended_reason(Job(job_id="r-1", status=JobStatus.SUCCEEDED, message=""))
    'The driver ended with exit code 0 and without its last report.'
    """
    match job.status:
        case JobStatus.SUCCEEDED:
            return "The driver ended with exit code 0 and without its last report."
        case JobStatus.STOPPED:
            return "The Ray job was stopped, and not by this server."
        case _:
            return _failed_reason(_ANSI.sub("", job.message))


def _failed_reason(message: str) -> str:
    prefix = _RAY_PREFIX.search(message)
    sentence = (
        exit_sentence(int(prefix.group(1)))
        if prefix
        else "The driver was ended from outside and could not make its last report."
    )
    told = _PYTHON_WARNING.sub("", _RAY_PREFIX.sub("", message))
    lines = [line for line in told.strip().splitlines() if not _RAY_LOG_LINE.match(line)]
    tail = _end_of("\n".join(lines[-_MAX_LINES:]))
    return f"{sentence}\n\n{tail}" if tail else sentence


def exit_sentence(code: int) -> str:
    """Say what an exit code tells of the driver's end; a signal is named with its usual cause.

    >>> exit_sentence(1)
    'The driver ended with exit code 1 and without its last report.'
    >>> exit_sentence(130)
    'The driver was killed by signal 2 (SIGINT) and made no last report (exit code 130).'
    """
    number = -code if code < 0 else code - _SHELL_SIGNAL
    try:
        killer = signal.Signals(number)
    except ValueError:
        return f"The driver ended with exit code {code} and without its last report."
    cause = _USUAL_CAUSES.get(killer, "")
    return (
        f"The driver was killed by signal {number} ({killer.name}){cause}{',' if cause else ''}"
        f" and made no last report (exit code {code})."
    )


def _end_of(text: str) -> str:
    """As much of the end as is kept, from a line's beginning where there is one."""
    if len(text) <= _MAX_CHARACTERS:
        return text
    cut = text[-_MAX_CHARACTERS:]
    if text[-_MAX_CHARACTERS - 1] == "\n":
        return cut
    return cut.partition("\n")[2] or cut
