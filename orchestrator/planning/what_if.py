"""A step that ran, scheduled otherwise: what another layout or cut would have made of the same samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain

from orchestrator.contracts.messages import ScheduleMessage
from orchestrator.contracts.schedule_spec import Barrier, Packer
from orchestrator.contracts.what_if import (
    Geometry,
    WhatIf,
    WhatIfChange,
    WhatIfFigures,
    WhatIfMeasured,
    WhatIfRequest,
)
from orchestrator.costs.cost_model import CostModel
from orchestrator.geometry import geometry_of
from orchestrator.planning.effort import MAX_PIPELINE_PASSES, pipeline_passes
from orchestrator.planning.planned_geometry import MAX_RANKS
from orchestrator.planning.recovered_cost import recovered_cost_model
from orchestrator.schedule import step_micro_batches
from orchestrator.step_figures import StepFigures, measured_makespan_s, step_figures
from trainer.contracts.certificate import Certificate
from trainer.contracts.schedule import StepSchedule
from trainer.contracts.text_model import FieldError


def what_if(schedule: ScheduleMessage, request: WhatIfRequest) -> WhatIf:
    """Schedule the samples of a stored step under other settings, and judge both schedules by the same costs.

    Raises:
        FieldError: the settings do not fit together. Fields are those of the request.
    """
    ran = _read_geometry(schedule)
    asked = _apply(ran, request)
    lengths = schedule.samples.num_tokens
    _check_effort(asked, lengths)
    cost_model = recovered_cost_model(schedule)
    certificate = _certificate(schedule)
    as_ran = _judge(schedule.micro_batches, ran, lengths, cost_model, certificate)
    ranks = step_micro_batches(lengths, geometry=geometry_of(asked, asked), cost_model=cost_model)
    micro_batches = tuple(tuple(map(tuple, rank)) for rank in ranks)
    as_asked = _judge(micro_batches, asked, lengths, cost_model, certificate)
    seconds_per_cost = _seconds_per_cost(schedule, as_ran)
    ran_figures = _figures(as_ran, seconds_per_cost)
    asked_figures = _figures(as_asked, seconds_per_cost)
    return WhatIf(
        asked=asked,
        ran=ran,
        micro_batches=micro_batches,
        predicted_cost=as_asked.figures.predicted_cost,
        asked_figures=asked_figures,
        ran_figures=ran_figures,
        ran_measured=_measured(schedule, ran),
        change=_change(asked_figures, ran_figures),
        certificate_sha256=certificate.sha256,
    )


def _read_geometry(schedule: ScheduleMessage) -> Geometry:
    return Geometry(
        dp=len(schedule.micro_batches),
        cp=schedule.cp,
        pp=schedule.pp,
        vpp=schedule.vpp,
        token_cap=None if schedule.token_cap is None else max(1, schedule.token_cap // schedule.cp),
        micro_batch_size=schedule.micro_batch_size,
        packer=schedule.packer,
        balance=schedule.balance,
        barrier=schedule.barrier,
        # Of what makes ranks meet within a step, it is the one that the record does not name.
        overlap_grad_reduce=not schedule.skips_dummies and schedule.pp == 1 and schedule.barrier is Barrier.STEP,
    )


def _apply(ran: Geometry, request: WhatIfRequest) -> Geometry:
    changes = request.model_dump(exclude_none=True)
    if request.token_cap is not None:
        changes["micro_batch_size"] = None
    if request.micro_batch_size is not None:
        changes["token_cap"] = None
        # What packed under the cap has nothing to do where micro-batches are cut by count.
        changes.setdefault("packer", Packer.FIRST_FIT_DECREASING)
    asked = ran.model_copy(update=changes)
    if asked.vpp > 1 and asked.pp == 1 and (request.vpp or request.pp):
        raise FieldError(
            f"vpp={asked.vpp} cuts the stages of a pipeline, but pp=1; raise pp to 2 or more, or ask for vpp=1",
            "vpp",
            "pp",
        )
    _check_packer(asked, request)
    if asked.dp * asked.pp > MAX_RANKS:
        raise FieldError(
            f"dp × pp = {asked.dp} × {asked.pp} = {asked.dp * asked.pp:,} ranks; ask for at most {MAX_RANKS:,}",
            "dp",
            "pp",
        )
    return asked


def _check_packer(asked: Geometry, request: WhatIfRequest) -> None:
    """As the RunSpec does."""
    if asked.micro_batch_size is None or request.packer in (None, Packer.FIRST_FIT_DECREASING):
        return
    raise FieldError(
        f"packer={request.packer} packs under a token cap, and micro_batch_size={asked.micro_batch_size} cuts by "
        "count; leave packer out, or ask for a token_cap",
        "packer",
        "micro_batch_size",
        "token_cap",
    )


def _check_effort(asked: Geometry, lengths: Sequence[int]) -> None:
    passes = pipeline_passes(geometry_of(asked, asked), num_samples=len(lengths), num_tokens=sum(lengths))
    if passes > MAX_PIPELINE_PASSES:
        raise FieldError(
            f"pp × vpp × micro-batches of a rank come to {passes:,}; ask for at most {MAX_PIPELINE_PASSES:,}: a lower "
            "pp or vpp, or a higher dp or token_cap",
            "pp",
            "vpp",
        )


def _certificate(schedule: ScheduleMessage) -> Certificate:
    fractions = {weight: Fraction(weight) for weight in set(schedule.samples.weight)}
    return Certificate(
        loss_aggregation=schedule.loss_aggregation,
        sample_ids=schedule.samples.sample_id,
        weights=tuple(fractions[weight] for weight in schedule.samples.weight),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Judged:
    schedule: StepSchedule
    figures: StepFigures
    max_micro_batch_tokens: int


def _judge(
    micro_batches: tuple[tuple[tuple[int, ...], ...], ...],
    geometry: Geometry,
    lengths: Sequence[int],
    cost_model: CostModel,
    certificate: Certificate,
) -> _Judged:
    step, settings = StepSchedule(micro_batches=micro_batches, certificate=certificate), geometry_of(geometry, geometry)
    figures = step_figures(step, lengths=lengths, geometry=settings, cost_model=cost_model)
    return _Judged(
        schedule=step,
        figures=figures,
        max_micro_batch_tokens=max(
            sum(lengths[i] for i in micro_batch) for micro_batch in chain.from_iterable(micro_batches)
        ),
    )


def _seconds_per_cost(schedule: ScheduleMessage, ran: _Judged) -> float | None:
    """Seconds that a unit of cost took when the step ran."""
    cost = sum(map(sum, ran.figures.predicted_cost)) / schedule.pp
    measured_s = sum(map(sum, schedule.measured_s))
    return measured_s / cost if cost > 0 and measured_s > 0 else None


def _measured(schedule: ScheduleMessage, ran: Geometry) -> WhatIfMeasured | None:
    makespan_s = measured_makespan_s(schedule.measured_s, geometry_of(ran, ran))
    if makespan_s <= 0:
        return None
    busy_s = sum(map(sum, schedule.measured_s))
    # The last digits of the sums may differ.
    idle_frac = max(0.0, 1 - busy_s / (makespan_s * ran.dp))
    return WhatIfMeasured(makespan_s=makespan_s, idle_frac=idle_frac)


def _figures(judged: _Judged, seconds_per_cost: float | None) -> WhatIfFigures:
    span = judged.figures.makespan
    return WhatIfFigures(
        num_microbatches=judged.schedule.num_microbatches,
        num_dummies=judged.figures.num_dummies,
        num_over_cap=judged.figures.num_over_cap,
        max_micro_batch_tokens=judged.max_micro_batch_tokens,
        predicted_idle_frac=judged.figures.predicted_idle_frac,
        idle_bound_frac=judged.figures.idle_bound_frac,
        makespan=span,
        predicted_s=None if seconds_per_cost is None else span * seconds_per_cost,
    )


def _change(asked: WhatIfFigures, ran: WhatIfFigures) -> WhatIfChange:
    seconds = None if asked.predicted_s is None or ran.predicted_s is None else asked.predicted_s - ran.predicted_s
    return WhatIfChange(
        num_microbatches=asked.num_microbatches - ran.num_microbatches,
        num_dummies=asked.num_dummies - ran.num_dummies,
        num_over_cap=asked.num_over_cap - ran.num_over_cap,
        max_micro_batch_tokens=asked.max_micro_batch_tokens - ran.max_micro_batch_tokens,
        predicted_idle_frac=asked.predicted_idle_frac - ran.predicted_idle_frac,
        idle_bound_frac=asked.idle_bound_frac - ran.idle_bound_frac,
        makespan_frac=(asked.makespan - ran.makespan) / ran.makespan if ran.makespan > 0 else 0.0,
        predicted_s=seconds,
    )
