"""The local Ray cluster as the reconciler uses it: one head and its jobs, with nothing of Ray in the answers."""

from __future__ import annotations

import logging
import sys
import threading

import httpx

from server.runs.supervisor_port import RayState
from server.supervisor import processes
from server.supervisor.job_reason import ended_reason
from server.supervisor.jobs import JobClient, JobError
from server.supervisor.ray_head import HeadRecord, RayHead
from server.supervisor.view import JobState, JobView

logger = logging.getLogger(__name__)

JOB_TAG = "SWELL_JOB"
"""Environment variable that every process of a job inherits; its value is the job's id."""

_HEAD_GONE = "The Ray head has ended, and the run's job with it."
_JOB_UNKNOWN = "The Ray head does not know the run's job."


class LocalCluster:
    """Implements `needs.Cluster` with a head on this machine."""

    def __init__(self, head: RayHead) -> None:
        self._head = head
        # Kept between rounds: a new client reads its certificates anew, which costs more than all it asks.
        self._jobs: tuple[str, JobClient] | None = None

    def clear_remains(self) -> None:
        """End what a dead head has left behind."""
        if self._head.remembered() is not None and self._head.current() is None:
            self._head.stop()

    def prepare(self, give_up: threading.Event) -> None:
        """Have a head that takes jobs. Raises HeadError."""
        self._head.ensure(give_up)

    def submit(self, job_id: str, launch_json: str, give_up: threading.Event) -> None:
        """Start a driver. Raises HeadError or JobError; repeating it is harmless."""
        self._client(self._head.ensure(give_up)).submit(
            job_id,
            entrypoint=f'"{sys.executable}" -m orchestrator.main',
            environment={
                "SWELL_ATTEMPT": launch_json,
                JOB_TAG: job_id,
                # More threads than cores make all processes of a run crawl.
                "OMP_NUM_THREADS": "1",
                # The driver wants it, since some tasks draw in the order of a set, and would begin again to get it.
                "PYTHONHASHSEED": "0",
                **self._head.environment(),
            },
        )

    def look(self, job_id: str) -> JobView:
        """What is known of a job now."""
        record = self._head.current()
        if record is None:
            return self._not_alive(job_id, JobState.ABSENT, _HEAD_GONE)
        try:
            job = self._client(record).get(job_id)
        except JobError as error:
            logger.warning("job %s: %s", job_id, error)
            return JobView(state=JobState.UNKNOWN, message=str(error))
        if job is None:
            return self._not_alive(job_id, JobState.ABSENT, _JOB_UNKNOWN)
        if job.status.has_ended:
            return self._not_alive(job_id, JobState.ENDED, ended_reason(job))
        return JobView(state=JobState.ALIVE)

    def alive_jobs(self) -> list[str]:
        """Ids of the jobs that a living head has; empty when it cannot be asked."""
        record = self._head.current()
        if record is None:
            return []
        try:
            return self._client(record).alive()
        except JobError as error:
            logger.warning("jobs: %s", error)
            return []

    def ray_state(self) -> RayState:
        """Whether the head is there and answers. Uses nothing that the reconciler's thread uses."""
        record = self._head.current()
        if record is None:
            return RayState.NOT_STARTED
        headers = {"Authorization": f"Bearer {self._head.token()}"}
        try:
            answer = httpx.get(f"{record.dashboard_url}/api/version", headers=headers, timeout=1.0, trust_env=False)
        except httpx.HTTPError:
            return RayState.SILENT
        return RayState.ANSWERS if answer.status_code == httpx.codes.OK else RayState.SILENT

    def stop_job(self, job_id: str) -> None:
        """Ask Ray to end a job. Raises JobError."""
        record = self._head.current()
        if record is not None:
            self._client(record).stop(job_id)

    def end_processes(self, job_id: str) -> None:
        """Kill what is left of a job: also after one that went well, Ray leaves some of its processes."""
        left = processes.tagged(JOB_TAG, job_id)
        if left:
            counted = "1 process" if len(left) == 1 else f"{len(left)} processes"
            logger.info("ending what is left of job %s: %s %s", job_id, counted, processes.pids(left))
        if stuck := processes.kill(left):
            logger.error("job %s: processes %s cannot be killed", job_id, stuck)

    def stop_head(self) -> None:
        """End the head with everything that runs on it."""
        self.close()
        self._head.stop()

    def close(self) -> None:
        """Let go of the head without touching it. Safe to call twice."""
        if self._jobs is not None:
            self._jobs[1].close()
            self._jobs = None

    def _client(self, record: HeadRecord) -> JobClient:
        if self._jobs is None or self._jobs[0] != record.dashboard_url:
            self.close()
            self._jobs = record.dashboard_url, JobClient(dashboard_url=record.dashboard_url, token=self._head.token())
        return self._jobs[1]

    def _not_alive(self, job_id: str, state: JobState, message: str) -> JobView:
        return JobView(state=state, message=message, has_processes=bool(processes.tagged(JOB_TAG, job_id)))
