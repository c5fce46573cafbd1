"""What a driver and the server say to each other.

    AttemptLaunch   server → driver, as the environment variable SWELL_ATTEMPT of the Ray job
    StepsBatch      driver → POST /api/v1/runs/{id}/steps:batch
    EventsBatch     driver → POST /api/v1/runs/{id}/events:batch
    StateReport     driver → POST /api/v1/runs/{id}/state
    Heartbeat       driver → POST /api/v1/runs/{id}/heartbeat
    IngestAnswer    server → driver, the answer to each of them

Rollouts, logs and checkpoints have messages of their own, in the files beside this one. Every message names its
attempt, which fences off writers of older attempts (409). The first three go through the driver's journal, so that
they may arrive late or twice; the server takes each (run, attempt, step) once.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Literal, Self, TypeAlias

from pydantic import AwareDatetime, Field, NonNegativeFloat, NonNegativeInt, PositiveInt, StrictInt, model_validator

from orchestrator.contracts.batch_spec import AdaptiveMode
from orchestrator.contracts.rollout_spec import ZeroVariancePolicy
from orchestrator.contracts.run_spec import RunSpec
from orchestrator.contracts.schedule_spec import Balance, Barrier, Packer
from orchestrator.contracts.system_message import SystemSample
from orchestrator.contracts.timeline_message import TimelineColumns
from trainer.contracts.certificate import LossAggregation
from trainer.contracts.metric import Reduction
from trainer.contracts.optimizer_spec import LrUnit
from trainer.contracts.policy_trainer import StepStatus
from trainer.contracts.text_model import FieldError, JsonObject, Name, TextModel

StepNumber: TypeAlias = Annotated[StrictInt, Field(ge=0, le=2**53 - 1)]
"""Steps are integers that a browser can hold exactly."""
NonFinite: TypeAlias = Literal["NaN", "Infinity", "-Infinity"]
"""JSON has no such numbers, so they travel as strings, and are told apart everywhere."""
Fraction01: TypeAlias = Annotated[float, Field(ge=0.0, le=1.0)]


class AttemptLaunch(TextModel):
    """All that a driver needs to run one attempt of one run."""

    run_id: str
    attempt: PositiveInt
    spec: RunSpec
    server_url: str
    ingest_token: str
    """Grants ingest of this attempt and nothing else."""
    run_dir: str
    """A directory of the run's own, for its journal and logs."""
    resume_step: StepNumber | None = None
    """Go on from the checkpoint of this step; None: from the newest, if there is any."""


class Phase(StrEnum):
    """Which stretch of training a step belongs to."""

    WARM_START = "warm_start"
    """Supervised steps before reinforcement."""
    RL = "rl"
    """Reinforcement learning."""


class MetricMessage(TextModel):
    """One value of one metric at one step. Weighted, so that any later bucket is Σ value·weight / Σ weight."""

    value: float | NonFinite | None
    """None: nothing was measured (weight 0)."""
    weight: NonNegativeFloat
    reduction: Reduction


class SampleColumns(TextModel):
    """The samples of a step, by their index within the step; all columns have the same length."""

    sample_id: tuple[Name, ...]
    rollout_id: tuple[Name, ...]
    group_id: tuple[Name, ...]
    num_tokens: tuple[PositiveInt, ...]
    num_loss_tokens: tuple[NonNegativeInt, ...]
    weight: tuple[Annotated[str, Field(pattern=r"^\d+(/[1-9]\d*)?$", max_length=400)], ...]
    """Exact share of the step's loss, as a fraction: `1/136`. See `Certificate`."""
    reward: tuple[float | None, ...]
    advantage: tuple[float | None, ...]
    policy_version: tuple[NonNegativeInt, ...]
    """Version of the policy that generated the sample; for a supervised sample, the version it trains."""
    age: tuple[NonNegativeInt, ...] = ()
    """Iterations that the sample waited since it was generated, under `remainder: carry`; empty: nobody waited."""

    @property
    def size(self) -> int:
        return len(self.sample_id)

    @model_validator(mode="after")
    def _equally_long(self) -> Self:
        for name in type(self).model_fields:
            if name == "age" and not self.age:
                continue
            if len(getattr(self, name)) != self.size:
                raise FieldError(f"{name} has {len(getattr(self, name))} entries, sample_id has {self.size}", name)
        return self


class ScheduleMessage(TextModel):
    """Which sample ran on which data-parallel rank in which micro-batch, and what that cost."""

    token_cap: PositiveInt | None
    """Most tokens of a micro-batch, over all its context-parallel ranks; None: cut by `micro_batch_size`."""
    micro_batch_size: PositiveInt | None = None
    packer: Packer = Packer.FIRST_FIT_DECREASING
    balance: Balance
    barrier: Barrier = Barrier.STEP
    skips_dummies: bool
    """Whether the layout lets the trainer skip a dummy (pp = 1)."""
    cp: PositiveInt = 1
    pp: PositiveInt = 1
    vpp: PositiveInt = 1
    zero_variance: ZeroVariancePolicy | None = None
    """Whether groups without variance count in the denominators; None: the step has no groups."""
    samples: SampleColumns
    micro_batches: tuple[tuple[tuple[NonNegativeInt, ...], ...], ...]
    """[dp_rank][micro-batch] → sample indices; empty: a dummy."""
    predicted_cost: tuple[tuple[NonNegativeFloat, ...], ...]
    """[dp_rank][micro-batch], in the cost model's units; comparable within a run."""
    measured_s: tuple[tuple[NonNegativeFloat, ...], ...]
    """[dp_rank][micro-batch], forward and backward."""
    num_positions: tuple[tuple[NonNegativeInt, ...], ...] = ()
    """[dp_rank][micro-batch], token positions computed over all context-parallel ranks; what is more than the tokens is
    padding. 0: nothing was computed. Empty: not told."""
    sample_cost: tuple[NonNegativeFloat, ...]
    """Predicted cost of each sample, in the same units."""
    loss_aggregation: LossAggregation
    certificate_sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class BatchDecision(TextModel):
    """What the measured noise scale said of the size of the coming steps, and what came of it."""

    mode: AdaptiveMode
    noise_scale: Annotated[float, Field(ge=0.0)] | None
    """In samples; None while it is not known, or where noise hides the gradient altogether."""
    proposed_size: PositiveInt | None
    """In rollouts, within the bounds."""
    size_before: PositiveInt | None
    """In rollouts; None: everything that an iteration keeps."""
    size_after: PositiveInt | None
    reason: Annotated[str, Field(max_length=1000)]
    """Why the size changed or stayed, in one sentence."""


class StepReport(TextModel):
    """One step without its schedule. The counts say what happened to every rollout of its iteration.

    What may be None is not known to every framework that records into Swell; Swell's own driver tells all of it.
    """

    step: StepNumber
    iteration: NonNegativeInt | None = None
    """Counts from 0 within its phase."""
    phase: Phase | None = None
    status: StepStatus | None = None
    started_at: AwareDatetime
    ended_at: AwareDatetime
    policy_version: NonNegativeInt | None = None
    """Number of weight updates before this step."""

    global_batch_size: PositiveInt
    """Samples over all data-parallel ranks."""
    num_prompts: PositiveInt | None = None
    num_rollouts: PositiveInt | None = None
    num_tokens: PositiveInt | None = None
    num_loss_tokens: NonNegativeInt | None = None
    num_microbatches: PositiveInt | None = None
    """Micro-batches of each rank, dummies included."""
    num_dummies: NonNegativeInt | None = None
    """Over all ranks."""
    num_over_cap: NonNegativeInt | None = None
    num_generated: NonNegativeInt | None = None
    """Rollouts generated for this step's iteration; 0 but at its first step, as are the next four."""
    num_filtered: NonNegativeInt | None = None
    num_dropped: NonNegativeInt | None = None
    num_carried_in: NonNegativeInt | None = None
    """Rollouts that waited for this iteration.

    What comes in (carried in, generated) goes out: filtered, dropped, carried out or trained.
    """
    num_carried_out: NonNegativeInt | None = None
    """Rollouts that wait for the next iteration."""
    batch_decision: BatchDecision | None = None
    """Only under `batch: adaptive`."""

    lr: NonNegativeFloat | None = None
    lr_unit: LrUnit | None = None
    lr_position_before: NonNegativeInt | None = None
    lr_position_after: NonNegativeInt | None = None

    predicted_idle_frac: Fraction01 | None = None
    """Share of the ranks' time, until the last one is done, in which they wait; by predicted cost."""
    measured_idle_frac: Fraction01 | None = None
    """The same by the measured times of the micro-batches, played through the pipeline where there is one."""
    idle_bound_frac: Fraction01 | None = None
    """No schedule of these samples on this layout can be predicted to wait less."""
    padding_frac: Fraction01 | None = None
    """Share of computed token positions that hold no token."""

    metrics: dict[Name, MetricMessage]


class StepMessage(StepReport):
    """The whole record of one step."""

    schedule: ScheduleMessage | None = None
    """None: the writer does not know it; Swell's own driver always does."""
    timeline: TimelineColumns | None = None
    """Who did what when; None: nobody measured it."""


class StepsBatch(TextModel):
    """Steps of one attempt, taken all or none."""

    attempt: PositiveInt
    steps: Annotated[tuple[StepMessage, ...], Field(min_length=1, max_length=1000)]


class EventMessage(TextModel):
    """Something worth telling that is not a step, e.g. an iteration in which no group survived the filter."""

    key: Name
    """Unique within the attempt, so that a repeat is known as one."""
    kind: Name
    at: AwareDatetime
    message: Annotated[str, Field(max_length=10_000)]
    data: JsonObject = {}


class EventsBatch(TextModel):
    """Events of one attempt, taken all or none."""

    attempt: PositiveInt
    events: Annotated[tuple[EventMessage, ...], Field(min_length=1, max_length=1000)]


class StateReport(TextModel):
    """The driver's word on how the attempt ended. The last record of a journal."""

    attempt: PositiveInt
    outcome: Literal["succeeded", "failed", "stopped"]
    at: AwareDatetime
    reason: Annotated[str, Field(max_length=10_000)] | None = None
    """Why it failed: the first cause, in one sentence; the traceback follows after a blank line. Of one that succeeded:
    what is odd about it."""
    can_restart: bool = False
    """Whether another attempt may do better: a process died, and nothing is wrong with the spec."""


class Heartbeat(TextModel):
    """A sign of life with what the driver is at. Sent every few seconds; not journalled."""

    attempt: PositiveInt
    at: datetime
    activity: Annotated[str, Field(max_length=200)]
    """e.g. `warm start, step 40 of at most 400` or `generating 512 rollouts`."""
    num_steps: NonNegativeInt
    """Steps trained so far."""
    total_steps: PositiveInt | None
    """Steps there will be, as far as it is known."""
    is_paused: bool = False
    """The driver waits between two steps, as the server wished."""
    system: SystemSample | None = None
    """How busy the machine is; not in every heartbeat."""


class DesiredState(StrEnum):
    """What the server wants the driver to do."""

    RUN = "run"
    PAUSE = "pause"
    """Wait after the current step, with heartbeats, until it is RUN or STOP again."""
    STOP = "stop"
    """End after the current step and report `stopped`."""


class IngestAnswer(TextModel):
    """The answer to every message of a driver, given after commit."""

    accepted: NonNegativeInt
    duplicates: NonNegativeInt
    desired_state: DesiredState
