"""What the API says of steps and their schedules."""

from __future__ import annotations

from orchestrator.contracts.messages import ScheduleMessage, StepMessage
from trainer.contracts.text_model import TextModel


class StepRow(TextModel):
    """One step without its schedule. Field by field what the driver told (`StepMessage`), and where it belongs."""

    # The endpoint builds it from the columns of StepMessage; see server/steps/queries.py.


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


__all__ = ["CertificateOut", "StepMessage", "StepRow", "StepScheduleOut"]
