"""What the live stream tells of steps that were just recorded."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import chain

from orchestrator.contracts.messages import NonFinite
from server.ingest.prepared_step import PreparedStep
from server.ingest.step_rows import Totals
from server.live.schemas import StepsFrame
from server.steps.columns import STEP_SERIES


def steps_frame(
    run_id: str, attempt: int, prepared: Sequence[PreparedStep], totals: Sequence[Totals], *, run_started_at: datetime
) -> StepsFrame:
    """The steps in columns. `totals` belong to them one by one; run_started_at is the start of the run's first step."""
    told = [step.metrics for step in prepared]
    names = dict.fromkeys(chain.from_iterable(told))
    metrics: dict[str, tuple[float | NonFinite | None, ...]] = {
        name: tuple([one[name].value if name in one else None for one in told]) for name in names
    }
    for name in STEP_SERIES:
        values = [getattr(step.message, name) for step in prepared]
        metrics[name] = tuple(None if value is None else float(value) for value in values)
    ends = [step.message.ended_at for step in prepared]
    # The values were validated with the steps that they come from.
    return StepsFrame.model_construct(
        run=run_id,
        attempt=attempt,
        step=tuple(step.step for step in prepared),
        samples=tuple(float(total.samples) for total in totals),
        tokens=tuple(None if total.tokens is None else float(total.tokens) for total in totals),
        time=tuple(end.timestamp() for end in ends),
        relative=tuple((end - run_started_at).total_seconds() for end in ends),
        metrics=metrics,
    )
