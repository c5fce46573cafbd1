"""From the steps of an iteration to ranks and micro-batches: pack, align, distribute, order. Pure and deterministic.

Called by the loop once an iteration, and by whoever asks what a layout would make of given lengths.

    a step's samples ─ pack ─► micro-batches ─ align ─► enough of them ─ distribute, refine ─► ranks ─ order ─► schedule
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from orchestrator.costs.cost_model import CostModel
from orchestrator.geometry import StepGeometry
from orchestrator.loss_weights import certify
from orchestrator.placing.alignment import aligned_count
from orchestrator.placing.order import ordered
from orchestrator.placing.placement import place
from orchestrator.sample_shape import SampleShape
from trainer.contracts.certificate import Certificate, LossAggregation
from trainer.contracts.schedule import DpSchedule


def build_dp_schedule(
    samples: Sequence[SampleShape],
    steps: Sequence[Sequence[int]],
    *,
    geometry: StepGeometry,
    cost_model: CostModel,
    loss_aggregation: LossAggregation,
    constant_tokens: int | None = None,
) -> DpSchedule:
    """Place every sample of every step on a rank and in a micro-batch, and certify the loss weights of each step.

    steps: indices into `samples`, none empty, none twice (see `cut_into_steps`). A sample in no step is left out.
    constant_tokens: see `certify`.

    Where the trainer skips a dummy at no cost, ranks may have different numbers of real micro-batches; under a token
    cap there are never more than the packer needs, or one a rank if it needs fewer. Otherwise micro-batches are split,
    as far as their samples allow, until no dummy is needed: at most up to the next multiple of dp_size ×
    count_multiple.

    Raises:
        ValueError: a step without samples, or a sample that is in the steps twice.
    """
    _check_steps(steps)
    num_microbatches: list[int] = []
    certificates: list[Certificate] = []
    by_rank: list[list[list[int]]] = [[] for _ in range(geometry.dp_size)]
    for step in map(sorted, steps):
        members = [samples[i] for i in step]
        certificates.append(certify(members, loss_aggregation=loss_aggregation, constant_tokens=constant_tokens))
        ranks = step_micro_batches([sample.num_tokens for sample in members], geometry=geometry, cost_model=cost_model)
        num_microbatches.append(len(ranks[0]))
        for micro_batches, rank in zip(by_rank, ranks, strict=True):
            micro_batches += [[step[i] for i in own] for own in rank]
    return DpSchedule(
        partitions=tuple(tuple(chain.from_iterable(micro_batches)) for micro_batches in by_rank),
        micro_batch_indices=tuple(_tiles(micro_batches) for micro_batches in by_rank),
        num_microbatches=tuple(num_microbatches),
        global_batch_sizes=tuple(map(len, steps)),
        certificates=tuple(certificates),
    )


def step_micro_batches(
    lengths: Sequence[int], *, geometry: StepGeometry, cost_model: CostModel
) -> list[list[list[int]]]:
    """[dp_rank][micro-batch] → indices into `lengths`, the tokens of the samples of one step; empty: a dummy."""
    ranks = place(lengths, cost_model, geometry)
    count = aligned_count(max(map(len, ranks)), dp_size=1, count_multiple=geometry.count_multiple)
    return [
        [sorted(micro_batch.samples) if micro_batch else [] for micro_batch in ordered(rank, count, geometry.order)]
        for rank in ranks
    ]


def _check_steps(steps: Sequence[Sequence[int]]) -> None:
    if not all(steps):
        raise ValueError(f"step {[len(step) for step in steps].index(0)} has no samples; leave it out of steps")
    if len(set(chain.from_iterable(steps))) != sum(map(len, steps)):
        raise ValueError("a sample is in the steps twice; each may be in one of them, once")


def _tiles(micro_batches: Sequence[Sequence[int]]) -> tuple[tuple[int, ...], ...]:
    """The positions of each micro-batch in the rank's partition."""
    tiles, first = [], 0
    for micro_batch in micro_batches:
        tiles.append(tuple(range(first, first + len(micro_batch))))
        first += len(micro_batch)
    return tuple(tiles)
