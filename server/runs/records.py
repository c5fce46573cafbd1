"""Runs and attempts as the server's own code sees them, the supervisor included."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from orchestrator.contracts.run_spec import RunSpec
from orchestrator.contracts.run_state import RunState


class RunKind(StrEnum):
    """Who runs it."""

    MANAGED = "managed"
    """Swell: a job for each attempt."""
    EXTERNAL = "external"
    """Another training framework, which records it here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """What the supervisor needs to know of a run."""

    id: str
    name: str
    state: RunState
    attempt: int
    """Number of the newest attempt; 0 before the first."""
    created_at: datetime
    state_changed_at: datetime
    last_heartbeat_at: datetime | None
    """Of the newest attempt; None before its first."""
    stop_mode: str | None
    """`graceful` or `kill`, once somebody asked the run to stop."""
    stop_requested_at: datetime | None
    kind: RunKind = RunKind.MANAGED
    priority: int = 0
    """Among those that wait, higher ones start first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptRecord:
    """One attempt of a run."""

    run_id: str
    number: int
    created_at: datetime
    job_id: str | None
    """The Ray job's submission id, once it is known."""
    last_heartbeat_at: datetime | None
    outcome: str | None
    """What the driver's last report said: `succeeded`, `failed` or `stopped`."""
    reason: str | None
    ended_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchedAttempt:
    """A new attempt, whose job is to be submitted now. The token is told here and never again."""

    run_id: str
    number: int
    spec: RunSpec
    ingest_token: str
    resume_step: int | None = None
    """Go on from the checkpoint of this step; None: from the newest, if there is any."""
