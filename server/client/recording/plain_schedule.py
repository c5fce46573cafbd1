"""The schedule of a training loop that has cut its batch itself: what is needed for it to be shown and proved. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TypeAlias

from orchestrator.contracts.messages import SampleColumns, ScheduleMessage
from orchestrator.contracts.schedule_spec import Balance
from trainer.contracts.certificate import Certificate, LossAggregation

Ranks: TypeAlias = Sequence[Sequence[Sequence[int]]]
"""[dp_rank][micro-batch] → indices of samples."""
Shaped: TypeAlias = tuple[tuple[float, ...], ...]
"""[dp_rank][micro-batch]"""


def plain_schedule(
    micro_batches: Ranks,
    *,
    num_tokens: Sequence[int],
    step: int,
    num_loss_tokens: Sequence[int] | None = None,
    weights: Sequence[Fraction] | None = None,
    loss_aggregation: LossAggregation = LossAggregation.SAMPLE_MEAN,
    measured_s: Sequence[Sequence[float]] | None = None,
    num_positions: Sequence[Sequence[int]] | None = None,
    rewards: Sequence[float | None] | None = None,
    advantages: Sequence[float | None] | None = None,
    rollout_ids: Sequence[str] | None = None,
    group_ids: Sequence[str] | None = None,
    token_cap: int | None = None,
    policy_version: int | None = None,
) -> ScheduleMessage:
    """Which sample ran on which data-parallel rank in which micro-batch; sample i has `num_tokens[i]` tokens.

    micro_batches: all ranks have equally many; an empty one is a dummy. num_loss_tokens: None: all of its tokens.
    weights: the exact share of the step's loss that each sample has; None: the same for all. measured_s: seconds of
    each micro-batch, shaped as micro_batches; None: not measured. num_positions: token positions that each micro-batch
    computed, padding included, shaped as micro_batches; None: not known. rollout_ids, group_ids: None: each sample is a
    rollout and a prompt of its own. policy_version: None: the step's number. Cost is taken to be the number of tokens.

        >>> plain_schedule([[[0], [2]], [[1], []]], num_tokens=[5, 9, 4], step=0).samples.weight
        ('1/3', '1/3', '1/3')

    Raises ValueError when the lengths do not fit each other, or there is a sample twice, or none.
    """
    _check(micro_batches, size := len(num_tokens))
    ids = tuple(f"{step}.{i}" for i in range(size))
    shares = tuple(weights) if weights is not None else (Fraction(1, size),) * size
    certificate = Certificate(loss_aggregation=loss_aggregation, sample_ids=ids, weights=shares)
    costs = tuple(tuple(float(sum(num_tokens[i] for i in part)) for part in rank) for rank in micro_batches)
    samples = SampleColumns(
        sample_id=ids,
        rollout_id=tuple(rollout_ids or ids),
        group_id=tuple(group_ids or ids),
        num_tokens=tuple(num_tokens),
        num_loss_tokens=tuple(num_loss_tokens or num_tokens),
        weight=tuple(map(str, shares)),
        reward=tuple(rewards or (None,) * size),
        advantage=tuple(advantages or (None,) * size),
        policy_version=(step if policy_version is None else policy_version,) * size,
    )
    return ScheduleMessage(
        token_cap=token_cap,
        micro_batch_size=None if token_cap else max(len(part) for rank in micro_batches for part in rank),
        balance=Balance.NONE,
        skips_dummies=True,
        samples=samples,
        micro_batches=tuple(tuple(map(tuple, rank)) for rank in micro_batches),
        predicted_cost=costs,
        measured_s=_seconds(measured_s, costs),
        num_positions=tuple(map(tuple, num_positions or ())),
        sample_cost=tuple(map(float, num_tokens)),
        loss_aggregation=loss_aggregation,
        certificate_sha256=certificate.sha256,
    )


def _seconds(measured_s: Sequence[Sequence[float]] | None, costs: Shaped) -> Shaped:
    if measured_s is None:
        # All zero: not measured, and so not drawn.
        return tuple((0.0,) * len(rank) for rank in costs)
    return tuple(map(tuple, measured_s))


def _check(micro_batches: Ranks, size: int) -> None:
    placed = sorted(i for rank in micro_batches for micro_batch in rank for i in micro_batch)
    if placed != list(range(size)) or not size:
        raise ValueError(
            f"micro_batches place {len(placed)} samples; they must place each of the {size} in num_tokens once"
        )
    counts = {len(rank) for rank in micro_batches}
    if len(counts) > 1:
        raise ValueError(f"ranks have {sorted(counts)} micro-batches; give all as many, with empty ones as dummies")
