"""Why a job ended, in words for the run's reason: one sentence, then the last lines that its driver printed."""

from __future__ import annotations

import re

from server.supervisor.jobs import Job, JobStatus

_MAX_LINES = 40
_MAX_CHARACTERS = 4000
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
        f"The driver ended with exit code {prefix.group(1)} and without its last report."
        if prefix
        else "The driver was ended from outside and could not make its last report."
    )
    told = _PYTHON_WARNING.sub("", _RAY_PREFIX.sub("", message))
    lines = [line for line in told.strip().splitlines() if not _RAY_LOG_LINE.match(line)]
    tail = "\n".join(lines[-_MAX_LINES:])[-_MAX_CHARACTERS:]
    return f"{sentence}\n\n{tail}" if tail else sentence
