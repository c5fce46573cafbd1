"""From the steps of an iteration to ranks and micro-batches: pack, align, distribute, order. Pure and deterministic.

Called by the loop once an iteration, and by whoever wants to know what a layout would do with given lengths.

    samples of a step ─ packing ─► micro-batches ─ alignment ─► enough of them ─ distribution ─► ranks ─► order
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

from orchestrator.alignment import aligned_count, split_heaviest
from orchestrator.contracts.run_spec import Balance
from orchestrator.cost_model import CostModel
from orchestrator.distribution import Ranks, deal_out, distribute_evenly
from orchestrator.loss_weights import certify
from orchestrator.packing import first_fit_decreasing
from orchestrator.sample_shape import SampleShape
from trainer.contracts.certificate import LossAggregation
from trainer.contracts.schedule import DpSchedule, StepSchedule


def build_dp_schedule(
    samples: Sequence[SampleShape],
    steps: Sequence[Sequence[int]],
    *,
    dp_size: int,
    token_cap: int,
    balance: Balance,
    cost_model: CostModel,
    loss_aggregation: LossAggregation,
    constant_tokens: int | None = None,
    count_multiple: int = 1,
    skips_dummies: bool = True,
) -> DpSchedule:
    """Place every sample of every step on a rank and in a micro-batch, and certify the steps' loss weights.

    steps: indices into `samples`, none empty, none twice (see `cut_into_steps`).
    token_cap: most tokens of a micro-batch; a longer sample lands alone.
    count_multiple: micro-batches per rank are a multiple of it (the group of an interleaved pipeline).
    skips_dummies: whether the trainer skips a dummy at no cost (pp = 1). Then a rank may have fewer real micro-batches
        than the others; otherwise micro-batches are split, as far as their samples allow, until no dummy is needed.

    Raises:
        ValueError: a size below 1, an empty step, or a sample in two steps.
    """
    _check(dp_size=dp_size, token_cap=token_cap, count_multiple=count_multiple)
    placed: list[Ranks] = []
    for step in steps:
        if not step:
            raise ValueError("a step without samples cannot be scheduled")
        lengths = [samples[i].num_tokens for i in step]
        costs = cost_model.costs(lengths).tolist() if balance is Balance.COST else [float(n) for n in lengths]
        micro_batches = first_fit_decreasing(lengths, token_cap)
        count = aligned_count(len(micro_batches), dp_size=dp_size, count_multiple=count_multiple)
        micro_batches = split_heaviest(micro_batches, costs, count)
        if balance is Balance.NONE:
            ranks = deal_out(micro_batches, dp_size)
        else:
            ranks = distribute_evenly(
                micro_batches, costs, dp_size=dp_size, most_per_rank=None if skips_dummies else count // dp_size
            )
        placed.append([[sorted(step[i] for i in micro_batch) for micro_batch in rank] for rank in ranks])
    return _dp_schedule(samples, steps, placed, count_multiple, loss_aggregation, constant_tokens)


def _check(**sizes: int) -> None:
    for name, size in sizes.items():
        if size < 1:
            raise ValueError(f"{name}={size} must be at least 1")


def _dp_schedule(
    samples: Sequence[SampleShape],
    steps: Sequence[Sequence[int]],
    placed: Sequence[Ranks],
    count_multiple: int,
    loss_aggregation: LossAggregation,
    constant_tokens: int | None,
) -> DpSchedule:
    counts = [-(-max(len(rank) for rank in ranks) // count_multiple) * count_multiple for ranks in placed]
    dp_size = len(placed[0]) if placed else 0
    partitions, micro_batch_indices = [], []
    for dp_rank in range(dp_size):
        micro_batches: list[list[int]] = []
        for ranks, count in zip(placed, counts, strict=True):
            micro_batches += ranks[dp_rank] + [[]] * (count - len(ranks[dp_rank]))
        first, tiles = 0, []
        for micro_batch in micro_batches:
            tiles.append(tuple(range(first, first + len(micro_batch))))
            first += len(micro_batch)
        partitions.append(tuple(chain.from_iterable(micro_batches)))
        micro_batch_indices.append(tuple(tiles))
    return DpSchedule(
        partitions=tuple(partitions),
        micro_batch_indices=tuple(micro_batch_indices),
        num_microbatches=tuple(counts),
        global_batch_sizes=tuple(len(step) for step in steps),
        certificates=tuple(
            certify(
                [samples[i] for i in sorted(step)], loss_aggregation=loss_aggregation, constant_tokens=constant_tokens
            )
            for step in steps
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class StepFigures:
    """What the cost model says of one step, in its own units."""

    predicted_cost: tuple[tuple[float, ...], ...]
    """[dp_rank][micro-batch]"""
    sample_cost: tuple[float, ...]
    predicted_idle_frac: float
    """Share of the ranks' time, until the last one is done, in which they train nothing."""
    idle_bound_frac: float
    """No schedule of these samples on as many ranks has a lower predicted_idle_frac."""
    num_over_cap: int
    """Micro-batches above the token cap: each is one sample that is longer than it."""
    num_dummies: int


def step_figures(
    step: StepSchedule, *, lengths: Sequence[int], token_cap: int, cost_model: CostModel, skips_dummies: bool = True
) -> StepFigures:
    """Judge a step's schedule.

    lengths: tokens of each sample, by its index within the step.
    skips_dummies: see `build_dp_schedule`; a dummy that runs costs as much as one token and trains nothing.
    """
    costs = cost_model.costs(lengths).tolist()
    dummy = 0.0 if skips_dummies else cost_model.cost(1)
    predicted = tuple(
        tuple(sum(costs[i] for i in micro_batch) if micro_batch else dummy for micro_batch in rank)
        for rank in step.micro_batches
    )
    makespan = max(sum(rank) for rank in predicted)
    mean = sum(costs) / step.dp_size
    return StepFigures(
        predicted_cost=predicted,
        sample_cost=tuple(costs),
        predicted_idle_frac=max(0.0, 1 - mean / makespan),
        idle_bound_frac=max(0.0, 1 - mean / makespan_bound(costs, step.dp_size)),
        num_over_cap=step.over_cap(lengths, token_cap),
        num_dummies=step.num_dummies,
    )


def idle_frac(busy_per_rank: Sequence[float]) -> float:
    """Share of the ranks' time, until the last one is done, in which they wait; 0 when nothing was done.

    busy_per_rank: seconds, or any other unit. 9, 6 and 3 give 1 − 18 / 27 = 1/3.
    """
    if (makespan := max(busy_per_rank)) <= 0:
        return 0.0
    return max(0.0, 1 - sum(busy_per_rank) / (len(busy_per_rank) * makespan))


def makespan_bound(costs: Sequence[float], dp_size: int) -> float:
    """A cost that the most loaded rank reaches, however the samples are placed."""
    descending = sorted(costs, reverse=True)
    bound = max(sum(costs) / dp_size, descending[0])
    # Of the dearest k · dp_size + 1 samples some rank has k + 1, costing at least what the cheapest k + 1 of them do.
    for k in range(1, (len(costs) - 1) // dp_size + 1):
        bound = max(bound, sum(descending[k * dp_size - k : k * dp_size + 1]))
    return bound
