"""What the API says of runs."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field

from orchestrator.contracts.messages import NonFinite, StepNumber
from orchestrator.contracts.run_spec import RunSpec
from orchestrator.contracts.run_state import RunState
from server.page import Page
from server.runs.records import RunKind
from trainer.contracts.text_model import JsonObject, Name, TextModel


class LastStep(TextModel):
    """The newest step of a run, for lists. A value that was not measured, or that its writer does not know, is null."""

    step: int
    global_batch_size: int
    num_prompts: int | None
    num_tokens: int | None
    loss: float | NonFinite | None
    reward: float | NonFinite | None
    """The newest that was measured: only the first step of an iteration has one."""
    tokens_per_s: float | NonFinite | None
    measured_idle_frac: float | None
    predicted_idle_frac: float | None
    idle_bound_frac: float | None
    step_s: float
    """Seconds from the step's start to its end, generation included."""
    loss_aggregation: str | None
    """Null: recorded without a schedule."""


class RunSummary(TextModel):
    """A run as lists and the live stream tell it."""

    id: str
    """`run_` and 26 characters (ULID); sorts by creation."""
    name: str
    kind: RunKind
    """`managed`: Swell runs it; `external`: another training framework does, and records it here."""
    state: RunState
    reason: str | None
    """Why it failed, what it waits for, or what is odd about its success."""
    activity: str | None
    """What the driver is at, by its last heartbeat."""
    tags: dict[str, str]
    batch_policy: str | None
    """The batch policy in a few words: `all`, `fixed 64`; null for an external run."""
    parallelism: str | None
    """The layout in a few words: `dp 2`, `dp 2, tp 2`; null for an external run."""
    attempt: int
    created_at: datetime
    started_at: datetime | None
    """When its newest attempt began; null while it waits for one."""
    ended_at: datetime | None
    last_heartbeat_at: datetime | None
    num_steps: int
    """Steps recorded in the current view: superseded ones are not counted."""
    total_steps: int | None
    """Steps there will be, as far as the driver knows."""
    last: LastStep | None
    parent_id: str | None
    """The run that it was cloned from; it may be deleted."""
    priority: int
    """Among runs that wait, higher ones start first."""
    archived_at: datetime | None
    """Since when it is left out of lists."""
    batch_sizes: Annotated[tuple[int, ...], Field(max_length=64)]
    """global_batch_size over the run, at most 64 values, for a sparkline."""


class Run(RunSummary):
    """A run with its spec, or with its config."""

    spec: RunSpec | None
    """Null for an external run."""
    config: dict[str, Any] | None
    """What the writer of an external run told of it; null for a managed run."""
    version: int
    """Grows with every change of state, name or tags."""


class CreatedRun(Run):
    """A run that was just made."""

    ingest_token: str | None
    """Of an external run's first attempt, told here and never again; null for a managed run, and for a repeat."""


class RunChange(TextModel):
    """What shall be different about a run; everything that is not given stays as it is."""

    name: Name | None = None
    tags: Annotated[dict[Name, Annotated[str, Field(max_length=200)]], Field(max_length=100)] | None = None
    """All tags that it shall have."""
    priority: Annotated[int, Field(ge=-1000, le=1000)] | None = None
    archived: bool | None = None
    """Whether it is left out of lists. Only a run that has ended can be."""


class CloneRequest(TextModel):
    """What shall be different about a run that is submitted again."""

    changes: JsonObject = {}
    """A JSON merge patch of its spec: `{"optimizer": {"lr": 1e-4}}`; null takes a field away."""


class CloneName(TextModel):
    """A name for a clone that no run has yet. It is kept for nobody: names need not be unique."""

    name: Name


class RetryRequest(TextModel):
    """Where a run that ended goes on."""

    from_step: StepNumber | None = None
    """Of one of its checkpoints: the step that is trained next. Null: the newest."""


class DeletedRun(TextModel):
    """A run that is no more, unless it is restored."""

    id: str
    restorable_until: datetime
    """Until then POST …/restore brings it back; afterwards its records are removed."""


class RunPage(Page[RunSummary]):
    """A page of runs, in the order that was asked for."""

    next_cursor: str | None
    total: int
    """Runs that match the filter."""
    by_state: dict[RunState, int]
    """How many runs are in each state, whatever the state filter says."""


class CancelRequest(TextModel):
    """How to cancel."""

    mode: Literal["graceful", "kill"] = "graceful"
    """`graceful`: after the current step, at the latest when the deadline passes; `kill`: at once."""
