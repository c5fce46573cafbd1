"""Builders and Hypothesis strategies for batch policies."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from orchestrator.batching.batch_policy import StepCut, cut_into_steps
from orchestrator.batching.batch_size import BatchPosition
from orchestrator.contracts.batch_spec import (
    AdaptiveBatchSpec,
    AllBatchSpec,
    BatchSpec,
    ExplicitBatchSpec,
    ExplicitSize,
    FixedBatchSpec,
    RampBatchSpec,
    Remainder,
    TokenBudgetBatchSpec,
)
from orchestrator.sample_shape import SampleShape

ALL = AllBatchSpec(type="all")


def fixed(global_batch_size: int, remainder: Remainder = Remainder.PARTIAL) -> FixedBatchSpec:
    return FixedBatchSpec(type="fixed", global_batch_size=global_batch_size, remainder=remainder)


def token_budget(tokens_per_step: int, remainder: Remainder = Remainder.PARTIAL) -> TokenBudgetBatchSpec:
    return TokenBudgetBatchSpec(type="token_budget", tokens_per_step=tokens_per_step, remainder=remainder)


def ramp(start: int, end: int, increment: int, over_samples: int, **fields: Any) -> RampBatchSpec:
    return RampBatchSpec(type="ramp", start=start, end=end, increment=increment, over_samples=over_samples, **fields)


def explicit(*sizes: int, remainder: Remainder = Remainder.PARTIAL) -> ExplicitBatchSpec:
    return ExplicitBatchSpec(type="explicit", sizes=sizes, remainder=remainder)


def table(rows: dict[int, int], remainder: Remainder = Remainder.PARTIAL) -> ExplicitBatchSpec:
    sizes = tuple(ExplicitSize(from_step=step, global_batch_size=size) for step, size in rows.items())
    return ExplicitBatchSpec(type="explicit", table=sizes, remainder=remainder)


def adaptive(min_size: int, max_size: int, **fields: Any) -> AdaptiveBatchSpec:
    return AdaptiveBatchSpec(type="adaptive", min_size=min_size, max_size=max_size, **fields)


def cut(
    samples: list[SampleShape], batch: BatchSpec, *, is_last: bool = False, decided_size: int | None = None
) -> StepCut:
    """Cut from the beginning of reinforcement."""
    position = BatchPosition()
    return cut_into_steps(samples, batch, position=position, is_last_iteration=is_last, decided_size=decided_size)


@st.composite
def batches(draw: st.DrawFn) -> BatchSpec:
    """Any policy with any remainder; sizes that fit iterations of a few dozen rollouts."""
    size, remainder = st.integers(1, 30), draw(st.sampled_from(Remainder))
    small, large = sorted((draw(size), draw(size)))
    increment = draw(st.integers(1, 5))
    end = small + increment * draw(st.integers(0, 5))
    kind = draw(st.sampled_from(["fixed", "all", "token_budget", "ramp", "explicit", "table", "advise", "control"]))
    match kind:
        case "all":
            return ALL
        case "fixed":
            return fixed(small, remainder)
        case "token_budget":
            return token_budget(draw(st.integers(1, 1_000) | st.integers(1, 500_000)), remainder)
        case "ramp":
            return ramp(small, end, increment, draw(st.integers(1, 300)), remainder=remainder)
        case "explicit":
            return explicit(*draw(st.lists(size, min_size=1, max_size=6)), remainder=remainder)
        case "table":
            later = draw(st.dictionaries(st.integers(1, 20), size, max_size=4))
            return table({0: small} | dict(sorted(later.items())), remainder)
        case "advise":
            initial = draw(st.none() | size)
            return adaptive(small, large, global_batch_size=initial, remainder=remainder)
        case _:
            return adaptive(small, large, mode="control", global_batch_size=small, remainder=remainder)
