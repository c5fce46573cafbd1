"""The columns of a step, and those among them that are series by themselves, without a row in `points`."""

from __future__ import annotations

from sqlalchemy import Column

from orchestrator.contracts.messages import StepReport
from server.database.tables import steps
from trainer.contracts.metric import Reduction

REPORT_COLUMNS: tuple[str, ...] = tuple(
    name for name in StepReport.model_fields if name not in ("metrics", "batch_decision")
)
"""The fields of a StepReport that are columns of the table `steps` as they are, under the same names."""

STEP_SERIES: dict[str, Reduction] = {
    "global_batch_size": Reduction.MEAN,
    "num_prompts": Reduction.MEAN,
    "num_rollouts": Reduction.MEAN,
    "num_tokens": Reduction.MEAN,
    "num_loss_tokens": Reduction.MEAN,
    "num_microbatches": Reduction.MEAN,
    "num_dummies": Reduction.MEAN,
    "num_over_cap": Reduction.MEAN,
    "num_generated": Reduction.MEAN,
    "num_filtered": Reduction.MEAN,
    "num_dropped": Reduction.MEAN,
    "num_carried_in": Reduction.MEAN,
    "num_carried_out": Reduction.MEAN,
    "lr": Reduction.LAST,
    "predicted_idle_frac": Reduction.MEAN,
    "measured_idle_frac": Reduction.MEAN,
    "idle_bound_frac": Reduction.MEAN,
    "padding_frac": Reduction.MEAN,
}
"""Series of a step's own numbers, as far as its writer knows them.

Over several steps a chart shows the mean step, each weighing 1.
"""


def step_series_column(name: str) -> Column[float]:
    """The column behind one of STEP_SERIES."""
    column: Column[float] = steps.c[name]
    return column
