"""Carries out what `decisions.py` decided: database, Ray head, jobs. Called by the reconciler's thread only.

It never decides what is to be done, and repeating an action is harmless.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from pathlib import Path

from orchestrator.contracts.messages import AttemptLaunch
from orchestrator.contracts.run_state import RunState, RunTrigger
from server.supervisor import decisions
from server.supervisor.jobs import JobError
from server.supervisor.launch_files import read_launch, write_launch
from server.supervisor.needs import Cluster, Runs
from server.supervisor.ray_head import HeadError
from server.supervisor.view import job_id_of
from server.supervisor.waits import ToldWaits, WaitCause, Waiting

logger = logging.getLogger(__name__)


class ActionRunner:
    """One per reconciler."""

    def __init__(
        self,
        *,
        runs: Runs,
        cluster: Cluster,
        server_url: str,
        run_dir: Callable[[str], Path],
        open_jobs: set[str],
        stop: threading.Event,
        wake: threading.Event,
    ) -> None:
        """open_jobs: of which something may be alive; kept up to date here. stop: give up. wake: a state changed."""
        self._runs = runs
        self._cluster = cluster
        self._server_url = server_url
        self._run_dir = run_dir
        self._open_jobs = open_jobs
        self._stop = stop
        self._wake = wake
        self._waits = ToldWaits(runs.set_reason)

    def run(self, action: decisions.Action) -> None:
        """Carry it out; what Ray refuses is left to the next round, after a second."""
        try:
            self._carry_out(action)
        except (HeadError, JobError) as error:
            # Ray is not what the run needs it to be; the next round decides anew.
            logger.warning("%s: %s", action, error)
            if isinstance(action, decisions.Launch):
                self._waits.tell(action.run_id, Waiting(cause=WaitCause.RAY, reason=f"waits for Ray: {error}"))
            self._stop.wait(1.0)

    def _carry_out(self, action: decisions.Action) -> None:
        match action:
            case decisions.Launch(run_id=run_id):
                self._launch(run_id)
            case decisions.Submit(run_id=run_id, attempt=attempt):
                self._submit_again(run_id, attempt)
            case decisions.Wait(run_id=run_id, reason=reason):
                self._waits.tell(run_id, Waiting(cause=WaitCause.RUNS, reason=reason))
            case decisions.MarkLost() | decisions.GiveUpPause() | decisions.Fail() | decisions.MarkStopped():
                self._change_state(action)
            case decisions.StopJob(job_id=job_id):
                self._cluster.stop_job(job_id)
            case decisions.EndProcesses(job_id=job_id):
                self._cluster.end_processes(job_id)
            case decisions.Forget(job_id=job_id):
                self._open_jobs.discard(job_id)

    def _change_state(
        self, action: decisions.MarkLost | decisions.GiveUpPause | decisions.Fail | decisions.MarkStopped
    ) -> None:
        run_id, attempt = action.run_id, action.attempt
        match action:
            case decisions.MarkLost(reason=reason):
                self._apply(run_id, RunTrigger.SILENCE, attempt, reason)
            case decisions.GiveUpPause(message=message):
                state = self._runs.apply(run_id, RunTrigger.RESUME, message=message, attempt=attempt)
                self._told_state(run_id, state, message)
            case decisions.Fail(reason=reason, can_restart=True):
                state = self._runs.fail_or_restart(run_id, reason=reason, attempt=attempt)
                self._told_state(run_id, state, reason)
            case decisions.Fail(reason=reason):
                self._apply(run_id, RunTrigger.FAIL, attempt, reason)
            case decisions.MarkStopped():
                self._apply(run_id, RunTrigger.STOPPED, attempt, None)

    def _launch(self, run_id: str) -> None:
        # While Ray starts, the run waits for nothing else any more; why it does not is told until it does.
        if self._waits.cause(run_id) is not WaitCause.RAY:
            self._waits.tell(run_id, None)
        # The head first: it takes seconds, and a server that ends meanwhile leaves the run in the queue.
        self._cluster.prepare(self._stop)
        attempt = self._runs.launch(run_id)
        self._waits.forget(run_id)
        if attempt is None:
            return
        launch = AttemptLaunch(
            run_id=run_id,
            attempt=attempt.number,
            spec=attempt.spec,
            server_url=self._server_url,
            ingest_token=attempt.ingest_token,
            run_dir=str(self._run_dir(run_id)),
            resume_step=attempt.resume_step,
        )
        write_launch(launch)
        self._submit(launch)

    def _submit_again(self, run_id: str, attempt: int) -> None:
        launch = read_launch(self._run_dir(run_id), attempt)
        if launch is None:
            reason = "The server ended while it launched the run. Submit the run again."
            self._apply(run_id, RunTrigger.FAIL, attempt, reason)
            return
        self._submit(launch)

    def _submit(self, launch: AttemptLaunch) -> None:
        job_id = job_id_of(launch.run_id, launch.attempt)
        self._open_jobs.add(job_id)
        self._cluster.submit(job_id, launch.model_dump_json(), self._stop)
        self._runs.set_job(launch.run_id, launch.attempt, job_id)
        logger.info("run %s: job %s submitted", launch.run_id, job_id)

    def _apply(self, run_id: str, trigger: RunTrigger, attempt: int, reason: str | None) -> None:
        self._told_state(run_id, self._runs.apply(run_id, trigger, reason=reason, attempt=attempt), reason)

    def _told_state(self, run_id: str, state: RunState | None, reason: str | None) -> None:
        if state is not None:
            logger.info("run %s is %s%s", run_id, state, f": {reason.splitlines()[0]}" if reason else "")
            self._wake.set()
