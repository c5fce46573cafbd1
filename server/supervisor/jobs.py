"""Ray's job REST API: submit, look at and stop the job of an attempt. Called by the reconciler only.

A job's id is fixed by its run and attempt, so that a submit can be repeated without starting anything twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import httpx


class JobStatus(StrEnum):
    """What Ray says of a job."""

    PENDING = "PENDING"
    """Accepted; its process does not run yet."""
    RUNNING = "RUNNING"
    STOPPED = "STOPPED"
    """Ended because somebody asked for it."""
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"

    @property
    def has_ended(self) -> bool:
        return self not in (JobStatus.PENDING, JobStatus.RUNNING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A job as Ray tells it."""

    job_id: str
    status: JobStatus
    message: str
    """Ray's own words; of a failed job with the last lines that it printed."""


class JobError(RuntimeError):
    """Ray could not be asked, or refused. Worth another try later."""


class JobClient:
    """The jobs of one head."""

    def __init__(self, *, dashboard_url: str, token: str, transport: httpx.BaseTransport | None = None) -> None:
        self._http = httpx.Client(
            base_url=dashboard_url,
            headers={"Authorization": f"Bearer {token}"},
            # The first submit to a new head starts Ray's job agent and takes several seconds. Nothing else is done
            # meanwhile; one that takes longer is repeated.
            timeout=httpx.Timeout(10.0, read=20.0),
            trust_env=False,
            transport=transport,
        )

    def close(self) -> None:
        self._http.close()

    def submit(self, job_id: str, *, entrypoint: str, environment: Mapping[str, str]) -> None:
        """Start the job unless it was started before."""
        body = {
            "submission_id": job_id,
            "entrypoint": entrypoint,
            "runtime_env": {"env_vars": dict(environment)},
        }
        answer = self._request("POST", "/api/jobs/", json=body)
        # Ray answers a repeated id with a 500 and a traceback: whether the job is there says what happened.
        if answer.is_error and self.get(job_id) is None:
            raise JobError(f"Ray did not take job {job_id}: {_last_line(answer.text)}")

    def get(self, job_id: str) -> Job | None:
        """The job, or None when this head never had it."""
        answer = self._request("GET", f"/api/jobs/{job_id}")
        if answer.status_code == httpx.codes.NOT_FOUND:
            return None
        return _job(_checked(answer).json())

    def alive(self) -> list[str]:
        """Ids of all jobs that have not ended."""
        jobs = [_job(row) for row in _checked(self._request("GET", "/api/jobs/")).json() if row["submission_id"]]
        return [job.job_id for job in jobs if not job.status.has_ended]

    def stop(self, job_id: str) -> None:
        """Ask Ray to end the job: its driver is asked, and killed three seconds later; then its actors are."""
        answer = self._request("POST", f"/api/jobs/{job_id}/stop")
        if answer.status_code != httpx.codes.NOT_FOUND:
            _checked(answer)

    def logs(self, job_id: str) -> str:
        """What the job's driver printed, or an empty text when there is no such job."""
        answer = self._request("GET", f"/api/jobs/{job_id}/logs")
        return "" if answer.status_code == httpx.codes.NOT_FOUND else str(_checked(answer).json()["logs"])

    def _request(self, method: str, path: str, json: Any = None) -> httpx.Response:
        try:
            return self._http.request(method, path, json=json)
        except httpx.HTTPError as error:
            raise JobError(f"Ray's job API does not answer: {error}") from error


def _job(row: Mapping[str, Any]) -> Job:
    return Job(job_id=row["submission_id"], status=JobStatus(row["status"]), message=row["message"] or "")


def _checked(answer: httpx.Response) -> httpx.Response:
    if answer.is_error:
        raise JobError(f"Ray's job API answered {answer.status_code}: {_last_line(answer.text)}")
    return answer


def _last_line(text: str) -> str:
    # Ray wraps the cause in tracebacks, and the cause comes last.
    lines = [line for line in text.strip().splitlines() if line.strip(" .")]
    return lines[-1] if lines else "(no text)"
