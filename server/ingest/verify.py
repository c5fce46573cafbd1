"""Whether a step is consistent with itself, before it is stored. Pure; called in the request's thread.

What a step says of itself (its counts, its batch size, its certificate's hash) is computed again from its samples.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import chain
from operator import attrgetter

from orchestrator.contracts.messages import ScheduleMessage, StepMessage
from server.database.tables import is_storable
from server.http.pointers import pointer
from server.steps.columns import REPORT_COLUMNS, STEP_SERIES
from trainer.contracts.certificate import Certificate
from trainer.contracts.schedule import StepSchedule, step_schedule_problems

Finding = tuple[str, str]
"""JSON pointer within the step, and a sentence."""
MAX_COUNT = 2**53 - 1
"""What a browser can hold exactly."""
MAX_ADDED = 2**40
"""Of what a run adds up over its steps: no run has so many steps that a database could not hold the sum."""
ROUNDING = 1e-6
"""Shares that differ by less are told alike: a writer may have rounded."""
_ADDED_UP = ("global_batch_size", "num_tokens")
_COUNTS = (
    "num_prompts",
    "num_rollouts",
    "num_tokens",
    "num_loss_tokens",
    "num_microbatches",
    "num_dummies",
    "num_over_cap",
)
"""What a schedule says of its step, so that its writer need not."""
_report_values = attrgetter(*REPORT_COLUMNS)
_ALWAYS_TOLD = (*REPORT_COLUMNS, "schedule")


def step_findings(message: StepMessage) -> list[Finding]:
    """Everything in which a step contradicts itself; empty when it does not."""
    findings = [
        *_size_findings(message),
        *_time_findings(message),
        *_metric_findings(message),
        *_rollout_findings(message),
    ]
    told = message.schedule
    if told is None:
        return [*findings, *_bare_count_findings(message)]
    try:
        certificate = certificate_of(told)
    except ValueError as error:
        return [*findings, ("/schedule/samples/sample_id", str(error))]
    schedule = StepSchedule(micro_batches=told.micro_batches, certificate=certificate)
    if not schedule.micro_batches or not schedule.micro_batches[0]:
        return [*findings, ("/schedule/micro_batches", "a step has at least one rank with one micro-batch")]
    findings += _schedule_findings(message, told, schedule)
    if not any(where == "/schedule/micro_batches" for where, _ in findings):
        findings += _count_findings(message, told, schedule)
        findings += _shape_findings(told)
        findings += _position_findings(message, told)
    return findings


def untold(message: StepMessage) -> list[Finding]:
    """What a driver of ours tells of every step and this one lacks. Another framework may not know it."""
    return [
        (f"/{name}", "is missing; a managed run tells it") for name in _ALWAYS_TOLD if getattr(message, name) is None
    ]


def with_counts(message: StepMessage) -> StepMessage:
    """The step with the counts that its schedule makes, where its writer did not tell them. It has no findings."""
    told = message.schedule
    if told is None or all(getattr(message, name) is not None for name in (*_COUNTS, "padding_frac")):
        return message
    made = _counted(told) | {"padding_frac": _padding_frac(told)}
    missing = {name: value for name, value in made.items() if getattr(message, name) is None}
    return message.model_copy(update=missing) if missing else message


def certificate_of(schedule: ScheduleMessage) -> Certificate:
    """The certificate that the schedule's weights make. Raises ValueError when a sample_id appears twice."""
    return Certificate(
        loss_aggregation=schedule.loss_aggregation,
        sample_ids=schedule.samples.sample_id,
        weights=tuple(map(Fraction, schedule.samples.weight)),
    )


def _size_findings(message: StepMessage) -> Iterator[Finding]:
    for name, value in zip(REPORT_COLUMNS, _report_values(message), strict=True):
        if isinstance(value, int) and value > _most(name):
            yield f"/{name}", f"is {value}; at most {_most(name)} can be recorded"


def _most(name: str) -> int:
    return MAX_ADDED if name in _ADDED_UP else MAX_COUNT


def _time_findings(message: StepMessage) -> Iterator[Finding]:
    for name in ("started_at", "ended_at"):
        if not is_storable(getattr(message, name)):
            yield f"/{name}", f"is {getattr(message, name)}; check the driver's clock"
    if message.ended_at < message.started_at:
        yield "/ended_at", f"the step ends at {message.ended_at}, before it starts at {message.started_at}"
    before, after = message.lr_position_before, message.lr_position_after
    if before is not None and after is not None and after < before:
        yield "/lr_position_after", f"must be at least lr_position_before={message.lr_position_before}"


def _metric_findings(message: StepMessage) -> Iterator[Finding]:
    for name in message.metrics.keys() & STEP_SERIES.keys():
        yield _metric_pointer(name), f"{name} is a column of every step; report the metric under another name"
    for name, metric in message.metrics.items():
        if metric.value is None and metric.weight > 0:
            yield (
                _metric_pointer(name) + "/value",
                f"is null, but weight={metric.weight}; what was not measured has weight 0",
            )
        if metric.value is not None and metric.weight == 0:
            yield (
                _metric_pointer(name) + "/weight",
                "is 0, but there is a value; what was not measured has the value null",
            )


def _rollout_findings(message: StepMessage) -> Iterator[Finding]:
    """The books of an iteration are told at its first step: what comes in is enough for what goes out there.

    How many of its rollouts later steps train is not known here, so that the sum need not be equal yet.
    """
    if message.num_generated is None:
        return
    came = message.num_generated + (message.num_carried_in or 0)
    left = (message.num_filtered or 0) + (message.num_dropped or 0) + (message.num_carried_out or 0)
    trained = (message.num_rollouts or 0) if came else 0
    if left + trained > came:
        yield (
            "/num_generated",
            f"the iteration generated {message.num_generated} rollouts and carried {message.num_carried_in or 0} in, "
            f"but {message.num_filtered or 0} were filtered, {message.num_dropped or 0} dropped, "
            f"{message.num_carried_out or 0} carried out and {trained} trained",
        )


def _metric_pointer(name: str) -> str:
    return pointer(("metrics", name))


def _schedule_findings(message: StepMessage, told: ScheduleMessage, schedule: StepSchedule) -> Iterator[Finding]:
    samples = told.samples
    if samples.size != message.global_batch_size:
        yield "/global_batch_size", f"is {message.global_batch_size}, but the schedule has {samples.size} samples"
    if schedule.global_batch_size != message.global_batch_size:
        yield (
            "/schedule/micro_batches",
            f"the ranks hold {schedule.global_batch_size} samples, global_batch_size is {message.global_batch_size}",
        )
    if (told.token_cap is None) == (told.micro_batch_size is None):
        yield "/schedule/token_cap", "a step is cut either by token_cap or by micro_batch_size; give one of them"
    problems = step_schedule_problems(
        schedule,
        lengths=samples.num_tokens,
        token_cap=told.token_cap,
        micro_batch_size=told.micro_batch_size,
        # An interleaved pipeline runs micro-batches in groups of pp.
        count_multiple=told.pp if told.vpp > 1 else 1,
    )
    for problem in problems:
        yield "/schedule/samples/weight" if problem.startswith("certificate") else "/schedule/micro_batches", problem
    if schedule.certificate.loss_aggregation.sums_to_one and schedule.certificate.total == 0 < sum(
        samples.num_loss_tokens
    ):
        yield "/schedule/samples/weight", "the weights sum to 0, not to 1, though there are loss tokens"
    if schedule.certificate.sha256 != told.certificate_sha256:
        yield "/schedule/certificate_sha256", f"the weights give {schedule.certificate.sha256}"
    for i, (num_loss_tokens, num_tokens) in enumerate(zip(samples.num_loss_tokens, samples.num_tokens, strict=True)):
        if num_loss_tokens > num_tokens:
            yield f"/schedule/samples/num_loss_tokens/{i}", f"is {num_loss_tokens}, more than {num_tokens} tokens"


def _count_findings(message: StepMessage, told: ScheduleMessage, schedule: StepSchedule) -> Iterator[Finding]:
    for name, count in _counted(told, schedule).items():
        found = getattr(message, name)
        if found is not None and found != count:
            yield f"/{name}", f"is {found}, but the schedule makes it {count}"
        if count > _most(name):
            yield f"/schedule/samples/{name}", f"make {name} {count}; at most {_most(name)} can be recorded"


def _counted(told: ScheduleMessage, schedule: StepSchedule | None = None) -> dict[str, int]:
    """The counts that follow from a schedule. schedule: the same, where it is built already."""
    samples, cap = told.samples, told.token_cap
    if schedule is None:
        schedule = StepSchedule(micro_batches=told.micro_batches, certificate=certificate_of(told))
    return {
        "num_prompts": len(set(samples.group_id)),
        "num_rollouts": len(set(samples.rollout_id)),
        "num_tokens": sum(samples.num_tokens),
        "num_loss_tokens": sum(samples.num_loss_tokens),
        "num_microbatches": schedule.num_microbatches,
        "num_dummies": schedule.num_dummies,
        "num_over_cap": 0 if cap is None else schedule.over_cap(samples.num_tokens, cap),
    }


def _bare_count_findings(message: StepMessage) -> Iterator[Finding]:
    """Counts that cannot be together, of a step without a schedule: parts that are more than their whole."""
    for part, whole in (
        ("num_rollouts", "global_batch_size"),
        ("num_prompts", "num_rollouts"),
        ("num_prompts", "global_batch_size"),
        ("num_loss_tokens", "num_tokens"),
    ):
        few, many = getattr(message, part), getattr(message, whole)
        if few is not None and many is not None and few > many:
            yield f"/{part}", f"is {few}, more than {whole}={many}"


def _shape_findings(schedule: ScheduleMessage) -> Iterator[Finding]:
    shape = [len(rank) for rank in schedule.micro_batches]
    for name in ("predicted_cost", "measured_s", *(("num_positions",) if schedule.num_positions else ())):
        given = [len(rank) for rank in getattr(schedule, name)]
        if given != shape:
            yield f"/schedule/{name}", f"has {given} entries by rank, micro_batches has {shape}"
    num_samples = len(list(chain.from_iterable(chain.from_iterable(schedule.micro_batches))))
    if len(schedule.sample_cost) != num_samples:
        yield "/schedule/sample_cost", f"has {len(schedule.sample_cost)} entries for {num_samples} samples"


def _position_findings(message: StepMessage, told: ScheduleMessage) -> Iterator[Finding]:
    """Positions hold the tokens of their micro-batch, or nothing was computed; what is left over is the padding."""
    for dp_rank, k, num_tokens, num_positions in _positions(told):
        where = f"/schedule/num_positions/{dp_rank}/{k}"
        if 0 < num_positions < num_tokens:
            yield where, f"is {num_positions}, but the micro-batch has {num_tokens} tokens"
        if num_positions > MAX_COUNT:
            yield where, f"is {num_positions}; at most {MAX_COUNT} can be recorded"
    share = _padding_frac(told)
    if share is not None and message.padding_frac is not None and abs(message.padding_frac - share) > ROUNDING:
        yield "/padding_frac", f"is {message.padding_frac}, but the positions computed make it {share}"


def _positions(told: ScheduleMessage) -> Iterator[tuple[int, int, int, int]]:
    """Of each micro-batch: dp_rank, index, tokens, positions computed; nothing where positions are not told."""
    lengths = told.samples.num_tokens
    # Of unequal shapes the common part; that they are unequal is a finding of its own.
    for dp_rank, (rank, positions) in enumerate(zip(told.micro_batches, told.num_positions, strict=False)):
        for k, (micro_batch, num_positions) in enumerate(zip(rank, positions, strict=False)):
            yield dp_rank, k, sum(lengths[i] for i in micro_batch), num_positions


def _padding_frac(told: ScheduleMessage) -> float | None:
    """The step's share of padding; None where positions are not told. Nothing computed: no padding."""
    if not told.num_positions:
        return None
    computed = [(num_tokens, num_positions) for _, _, num_tokens, num_positions in _positions(told) if num_positions]
    total = sum(num_positions for _, num_positions in computed)
    return (total - sum(num_tokens for num_tokens, _ in computed)) / total if total else 0.0
