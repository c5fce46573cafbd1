"""Steps whose loss or gradient was not finite: what the record tells of them, and when the run has had enough.

Called by the step runner after each step. The optimizer did not move, so one such step harms nothing; many in a row
mean that the policy is broken, and training on would only hide it.
"""

from __future__ import annotations

from datetime import datetime

from orchestrator.contracts.messages import EventMessage
from orchestrator.step_message import TrainedStep
from trainer.contracts.policy_trainer import StepStatus

_MAX_NAMED = 20
"""Samples that are named; their micro-batches hold the rest."""


class TooManySkipsError(Exception):
    """Too many steps in a row had no finite loss and gradient."""


class SkippedSteps:
    """Counts them."""

    def __init__(self, *, max_consecutive: int) -> None:
        self._max_consecutive = max_consecutive
        self._num_in_a_row = 0

    def observe(self, trained: TrainedStep, *, at: datetime) -> EventMessage | None:
        """Take a step into account; returns what is to be told of it, or None when it was finite."""
        if trained.record.status is not StepStatus.SKIPPED_NON_FINITE:
            self._num_in_a_row = 0
            return None
        self._num_in_a_row += 1
        suspects = suspect_samples(trained)
        return EventMessage(
            key=f"step_skipped/{trained.step}",
            kind="step_skipped",
            at=at,
            message=_message(trained, suspects),
            data={"step": trained.step, "status": trained.record.status, "sample_ids": suspects[:_MAX_NAMED]},
        )

    def check(self) -> None:
        """Raise TooManySkipsError when limits.max_consecutive_skips is reached."""
        if self._num_in_a_row >= self._max_consecutive:
            raise TooManySkipsError(
                f"{self._num_in_a_row} steps in a row had a loss or gradient that is not finite, and "
                f"limits.max_consecutive_skips is {self._max_consecutive}; lower optimizer.lr, or look at the samples "
                "that the step_skipped events name"
            )


def suspect_samples(trained: TrainedStep) -> list[str]:
    """Ids of the samples in micro-batches whose own loss was not finite; none where only the gradient was."""
    sample_ids = trained.schedule.certificate.sample_ids
    return [
        sample_ids[i] for dp_rank, k in trained.record.non_finite for i in trained.schedule.micro_batches[dp_rank][k]
    ]


def _message(trained: TrainedStep, suspects: list[str]) -> str:
    skipped = f"Step {trained.step} is skipped: the weights stay as they are"
    if not suspects:
        return f"{skipped}, because the gradient was not finite though every micro-batch's loss was"
    more = f" and {len(suspects) - _MAX_NAMED} more" if len(suspects) > _MAX_NAMED else ""
    named = ", ".join(suspects[:_MAX_NAMED])
    return f"{skipped}, because the loss was not finite in the micro-batches of these samples: {named}{more}"
