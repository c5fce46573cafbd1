"""A step that has not happened, cut into micro-batches with lengths that were drawn for it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from orchestrator.contracts.plan import PlannedGeometry
from orchestrator.costs.cost_model import CostModel
from orchestrator.geometry import StepGeometry
from orchestrator.planning.sample_lengths import SampleLengths
from orchestrator.sample_shape import SampleShape
from orchestrator.schedule import build_dp_schedule
from orchestrator.seeds import derive_seed
from orchestrator.step_figures import step_figures
from trainer.contracts.certificate import LossAggregation

MAX_RANKS = 65_536
"""dp × pp; more lists of micro-batches than a browser could draw."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DrySchedule:
    """All that is needed to schedule any step of a run."""

    geometry: StepGeometry
    cost_model: CostModel
    lengths: SampleLengths
    seed: int

    def step(self, step: int, *, num_samples: int) -> PlannedGeometry:
        """The geometry of one step. The same step of the same run has the same lengths, whatever else is asked."""
        random = np.random.default_rng(derive_seed(self.seed, "plan", step))
        num_tokens = self.lengths.draw(num_samples, random).tolist()
        plan = build_dp_schedule(
            _shapes(num_tokens),
            [range(num_samples)],
            geometry=self.geometry,
            cost_model=self.cost_model,
            # Any would do: weights do not move samples.
            loss_aggregation=LossAggregation.TOKEN_MEAN,
        )
        schedule = plan.step(0)
        figures = step_figures(schedule, lengths=num_tokens, geometry=self.geometry, cost_model=self.cost_model)
        return PlannedGeometry(
            num_tokens=sum(num_tokens),
            num_microbatches=schedule.num_microbatches,
            real_micro_batches=tuple(sum(map(bool, rank)) for rank in schedule.micro_batches),
            num_dummies=figures.num_dummies,
            num_over_cap=figures.num_over_cap,
            max_micro_batch_tokens=max(
                sum(num_tokens[i] for i in micro_batch) for rank in schedule.micro_batches for micro_batch in rank
            ),
            predicted_idle_frac=figures.predicted_idle_frac,
            idle_bound_frac=figures.idle_bound_frac,
        )


def _shapes(num_tokens: list[int]) -> list[SampleShape]:
    return [
        SampleShape(sample_id=str(i), rollout_id=str(i), group_id="", num_tokens=tokens, num_loss_tokens=tokens)
        for i, tokens in enumerate(num_tokens)
    ]


def spread(count: int, most: int) -> list[int]:
    """At most so many indices below `count`, the first and the last among them, evenly spread.

    >>> spread(10, 4)
    [0, 3, 6, 9]
    """
    if count == 0:
        return []
    return [round(place) for place in np.linspace(0, count - 1, min(count, most)).tolist()]
