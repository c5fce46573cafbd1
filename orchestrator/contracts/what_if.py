"""A step that ran, scheduled otherwise: what is asked (`WhatIfRequest`) and what is answered (`WhatIf`).

`orchestrator/planning/` answers from the stored lengths; the server and the dashboard pass it on.
"""

from __future__ import annotations

from typing import Annotated, Self, TypeAlias

from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveInt, model_validator

from orchestrator.contracts.messages import Fraction01
from orchestrator.contracts.schedule_spec import Balance, Barrier, Packer
from trainer.contracts.text_model import FieldError, TextModel

AxisSize: TypeAlias = Annotated[int, Field(ge=1, le=65_536)]
CapSize: TypeAlias = Annotated[int, Field(ge=1, le=2**40)]


class WhatIfRequest(TextModel):
    """What shall be different; everything that is not given stays as it ran."""

    dp: AxisSize | None = None
    cp: AxisSize | None = None
    """Context-parallel ranks share each sample: a micro-batch holds token_cap × cp tokens, at a cp-th of the cost."""
    pp: AxisSize | None = None
    vpp: AxisSize | None = None
    """Virtual stages of an interleaved pipeline: micro-batches of a rank are then a multiple of pp."""
    token_cap: CapSize | None = None
    """Tokens per context-parallel rank."""
    micro_batch_size: CapSize | None = None
    packer: Packer | None = None
    balance: Balance | None = None
    barrier: Barrier | None = None

    @model_validator(mode="after")
    def _is_cut_one_way(self) -> Self:
        if self.token_cap is not None and self.micro_batch_size is not None:
            raise FieldError("give either token_cap or micro_batch_size", "token_cap", "micro_batch_size")
        return self


class Geometry(TextModel):
    """The settings that a step was or would be scheduled with, none left open."""

    dp: PositiveInt
    cp: PositiveInt
    pp: PositiveInt
    vpp: PositiveInt
    token_cap: PositiveInt | None
    """Per context-parallel rank."""
    micro_batch_size: PositiveInt | None
    packer: Packer
    balance: Balance
    barrier: Barrier
    overlap_grad_reduce: bool = False
    """Whether gradients are added up while the last micro-batch is computed: then every rank runs its dummies."""


class WhatIfFigures(TextModel):
    """What a schedule comes to."""

    num_microbatches: PositiveInt
    num_dummies: NonNegativeInt
    num_over_cap: NonNegativeInt
    max_micro_batch_tokens: PositiveInt
    predicted_idle_frac: Fraction01
    idle_bound_frac: Fraction01
    makespan: NonNegativeFloat
    """Predicted cost until the last rank is done, in the cost model's units, the bubble of a pipeline included."""
    predicted_s: NonNegativeFloat | None
    """An estimate in seconds, on the scale at which the costs of what ran add up to what its micro-batches took.

    Compare it with the other schedule's, not with `WhatIfMeasured`: ranks that took unequal time for equal work are
    averaged in it. Devices are taken as equal, and communication is not counted. None: nothing was measured.
    """


class WhatIfMeasured(TextModel):
    """What the ranks took for forward and backward when the step ran."""

    makespan_s: NonNegativeFloat
    """Seconds until the last rank was done, the bubble of a pipeline included."""
    idle_frac: Fraction01
    """Share of the ranks' time, until the last one was done, in which they waited."""


class WhatIfChange(TextModel):
    """Asked minus ran."""

    num_microbatches: int
    num_dummies: int
    num_over_cap: int
    max_micro_batch_tokens: int
    predicted_idle_frac: float
    idle_bound_frac: float
    makespan_frac: float
    """(asked − ran) / ran: −0.25 is a quarter faster."""
    predicted_s: float | None


class WhatIf(TextModel):
    """Both schedules of the same samples, judged alike. The loss weights are the same in both."""

    asked: Geometry
    ran: Geometry
    micro_batches: tuple[tuple[tuple[NonNegativeInt, ...], ...], ...]
    """[dp_rank][micro-batch] → sample indices of the stored step, as asked; empty: a dummy."""
    predicted_cost: tuple[tuple[NonNegativeFloat, ...], ...]
    """[dp_rank][micro-batch], in the units of the stored schedule."""
    asked_figures: WhatIfFigures
    ran_figures: WhatIfFigures
    ran_measured: WhatIfMeasured | None
    """What was measured of the schedule that `ran_figures` estimates; None: nothing was."""
    change: WhatIfChange
    certificate_sha256: str
    """Of the asked schedule: equal to the stored one, because weights do not depend on the cut."""
