"""Whether a batch policy can ever fill a step with what the iterations give. Called by the RunSpec at submit.

A plan that cannot work is told here with the fields to change, never in the middle of a run.
"""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator.batching.batch_size import BatchPosition, next_size
from orchestrator.contracts.batch_spec import (
    AdaptiveBatchSpec,
    AdaptiveMode,
    AllBatchSpec,
    BatchSpec,
    ExplicitBatchSpec,
    FixedBatchSpec,
    RampBatchSpec,
    Remainder,
    TokenBudgetBatchSpec,
)
from trainer.contracts.text_model import FieldError

_MAX_ROLLOUTS = 2**53 - 1
"""Of a run. Steps and samples are counted in records and browsers, which hold whole numbers up to here."""
_MAX_FORESEEN_STEPS = 20_000
"""A few hundredths of a second's work, at each submit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Supply:
    """What there is to make steps of, before any filter."""

    iterations: int
    prompts: int
    """Of an iteration."""
    group_size: int
    max_sample_tokens: int
    """Longest prompt and response together."""

    @property
    def rollouts(self) -> int:
        """Of an iteration."""
        return self.prompts * self.group_size


def check_batch_plan(batch: BatchSpec, supply: Supply) -> None:
    """Raise a FieldError when no rollout would ever be trained, or none any more once a size is reached.

    Under `partial` any step can be made. Under `drop` an iteration has to fill by itself each size that the run comes
    to, when the filter leaves everything; under `carry` the whole run has to fill the first one.
    """
    _check_count(supply)
    if batch.remainder is Remainder.PARTIAL:
        return
    iterations = supply.iterations if batch.remainder is Remainder.CARRY else 1
    if isinstance(batch, TokenBudgetBatchSpec):
        _check_tokens(batch, supply, iterations)
        return
    size = _first_size(batch) if batch.remainder is Remainder.CARRY else _largest_size(batch, supply)
    if size is not None:
        _check_rollouts(*size, batch.remainder, supply, iterations)


def _check_count(supply: Supply) -> None:
    if supply.iterations * supply.rollouts > _MAX_ROLLOUTS:
        raise FieldError(
            f"iterations × data.rollout_batch_size × rollout.group_size = {supply.iterations * supply.rollouts:.3g} "
            "rollouts; records and browsers count up to 2^53 − 1, so lower one of them",
            "iterations",
            "data.rollout_batch_size",
            "rollout.group_size",
        )


def _largest_size(batch: BatchSpec, supply: Supply) -> tuple[str, int] | None:
    """Field and value of the largest size that the policy comes to, in rollouts; None: it takes what there is."""
    match batch:
        case RampBatchSpec():
            return "batch.end", _largest_reached(batch, batch.end, supply)
        case ExplicitBatchSpec():
            return _table_field(batch), _largest_reached(batch, max(_explicit_sizes(batch)), supply)
        case AdaptiveBatchSpec(mode=AdaptiveMode.CONTROL):
            return "batch.max_size", batch.max_size
        case _:
            return _first_size(batch)


def _largest_reached(batch: RampBatchSpec | ExplicitBatchSpec, largest: int, supply: Supply) -> int:
    """The largest size of all when the run comes to one that no iteration fills; else one that each of them fills.

    With fewer rollouts a run comes no further, so that a filter changes nothing here. The last iteration may end
    before a size that it cannot fill: it has trained. A size that comes after very many steps is not looked for.
    """
    if largest <= supply.rollouts:
        return largest
    position = BatchPosition()
    for _ in range(min(supply.iterations, _MAX_FORESEEN_STEPS)):
        left = supply.rollouts
        if _size_at(batch, position) > left:
            return largest
        while (size := _size_at(batch, position)) <= left and position.step < _MAX_FORESEEN_STEPS:
            left -= size
            position = position.after(size)
    return supply.rollouts


def _size_at(batch: RampBatchSpec | ExplicitBatchSpec, position: BatchPosition) -> int:
    size = next_size(batch, position)
    assert size is not None
    return size


def _first_size(batch: BatchSpec) -> tuple[str, int] | None:
    match batch:
        case RampBatchSpec():
            return "batch.start", batch.start
        case ExplicitBatchSpec():
            return _table_field(batch), _explicit_sizes(batch)[0]
        case FixedBatchSpec() | AdaptiveBatchSpec():
            size = batch.global_batch_size
            return None if size is None else ("batch.global_batch_size", size)
        case AllBatchSpec() | TokenBudgetBatchSpec():
            return None


def _table_field(batch: ExplicitBatchSpec) -> str:
    return "batch.sizes" if batch.table is None else "batch.table"


def _explicit_sizes(batch: ExplicitBatchSpec) -> list[int]:
    return [row.global_batch_size for row in batch.table or ()] or list(batch.sizes or ())


def _check_rollouts(field: str, needed: int, remainder: Remainder, supply: Supply, iterations: int) -> None:
    given = supply.rollouts * iterations
    if given >= needed:
        return
    prompts, group_size = (_ceil_div(needed, other * iterations) for other in (supply.group_size, supply.prompts))
    raises = f"data.rollout_batch_size to {prompts} or rollout.group_size to {group_size}"
    if remainder is Remainder.DROP:
        raise FieldError(
            f"The plan is impossible: a step needs {needed} rollouts, an iteration gives {given}, and "
            f"batch.remainder=drop trains no smaller step. Lower {field} to {given}, or raise {raises}.",
            field,
            "data.rollout_batch_size",
            "rollout.group_size",
        )
    raise FieldError(
        f"The plan is impossible: a step needs {needed} rollouts, and with batch.remainder=carry all iterations "
        f"together give {given}. Lower {field} to {given}, or raise iterations to "
        f"{_ceil_div(needed, supply.rollouts)}, {raises}.",
        field,
        "iterations",
        "data.rollout_batch_size",
        "rollout.group_size",
    )


def _check_tokens(batch: TokenBudgetBatchSpec, supply: Supply, iterations: int) -> None:
    given = supply.rollouts * iterations * supply.max_sample_tokens
    if given >= batch.tokens_per_step:
        return
    carries = batch.remainder is Remainder.CARRY
    whose = "all iterations together give" if carries else "an iteration gives"
    raise FieldError(
        f"The plan is impossible: a step needs {batch.tokens_per_step} tokens, and {whose} {given} at most: "
        f"{supply.rollouts * iterations} rollouts of data.max_prompt_tokens + rollout.max_new_tokens = "
        f"{supply.max_sample_tokens}. With batch.remainder={batch.remainder} no step would fill. Lower "
        f"batch.tokens_per_step to {given} or less, or raise {'iterations, ' if carries else ''}"
        "data.rollout_batch_size or rollout.group_size.",
        "batch.tokens_per_step",
        *(("iterations",) if carries else ()),
        "data.rollout_batch_size",
        "rollout.group_size",
        "data.max_prompt_tokens",
        "rollout.max_new_tokens",
    )


def _ceil_div(count: int, by: int) -> int:
    return -(-count // by)
