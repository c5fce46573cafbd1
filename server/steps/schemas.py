"""What the API says of steps and their schedules."""

from __future__ import annotations

from pydantic import ConfigDict

from orchestrator.contracts.messages import ScheduleMessage, StepReport
from server.page import Page
from trainer.contracts.text_model import TextModel


class StepRow(StepReport):
    """One step without its schedule: what the driver told, and where it belongs."""

    # What a writer may leave out is null in every answer.
    model_config = ConfigDict(json_schema_serialization_defaults_required=True)

    attempt: int
    superseded: bool
    """Whether a later attempt trained this step again."""
    samples_total: int
    """Samples trained up to and including this step: the running sum of global_batch_size."""
    has_schedule: bool
    """Whether its schedule can be asked for: it was recorded, and is still kept."""
    tokens_total: int | None
    """Tokens trained up to and including this step; null when a step up to here does not tell its own."""


class StepPage(Page[StepRow]):
    """Steps in ascending order."""

    next_from: int | None
    """The `from` of the next page; null on the last one."""
    total: int
    """Steps of the run in the current view that match the filter, whatever the page."""


class StoredSchedule(TextModel):
    """The schedule of a step as it was told, and where it belongs."""

    step: int
    attempt: int
    superseded: bool
    schedule: ScheduleMessage


class CertificateOut(TextModel):
    """The server's own check of a step's loss weights."""

    loss_aggregation: str
    total: str
    """Sum of the weights as a fraction: `1`."""
    holds: bool
    problem: str | None
    sha256: str


class StepScheduleOut(TextModel):
    """The schedule of a step as it ran."""

    run_id: str
    attempt: int
    step: int
    global_batch_size: int
    num_microbatches: int
    schedule: ScheduleMessage
    certificate: CertificateOut
