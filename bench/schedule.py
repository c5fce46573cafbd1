"""The scheduler's times, growth, loads and bounds: `python -m bench.schedule`.

Times are the best of several runs, as other work on the machine only ever adds to them.
"""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from rich.console import Console
from rich.table import Table

from bench.lengths import DISTRIBUTIONS, draw_lengths
from bench.reference_packers import arrival_first_fit, karmarkar_karp
from orchestrator.cost_model import CostModel
from orchestrator.geometry import StepGeometry
from orchestrator.loss_weights import certify
from orchestrator.packing import first_fit_decreasing
from orchestrator.sample_shape import SampleShape
from orchestrator.schedule import build_dp_schedule, step_figures
from trainer.contracts.certificate import LossAggregation
from trainer.contracts.schedule import DpSchedule

TOKEN_CAP = 16_384
NUM_REPEATS = 5
# Samples, ranks, and what the house allows for the schedule and its certificate together.
BUDGETS = ((8_192, 64, 0.025), (65_536, 128, 0.300))
GROWTH_SIZES = (1_024, 65_536)
# Few ranks, so that it is the samples that are measured: a rank of few samples takes longer to balance.
GROWTH_DP = 8
PEER_SIZE, PEER_DP = 1_024, 8
# Qwen3-0.6B.
COST_MODEL = CostModel.from_shape(
    num_layers=28,
    hidden_size=1024,
    num_attention_heads=16,
    num_query_groups=8,
    head_dim=128,
    ffn_hidden_size=3072,
    vocab_size=151_936,
)

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A placement in figures."""

    num_micro_batches: int
    num_over_cap: int
    max_over_mean: float


def best_s(work: Callable[[], T], num_repeats: int = NUM_REPEATS) -> tuple[float, T]:
    """Seconds of the fastest run, and its result."""
    seconds = math.inf
    for _ in range(num_repeats):
        gc.collect()
        began = time.perf_counter()
        result = work()
        seconds = min(seconds, time.perf_counter() - began)
    return seconds, result


def shapes_of(lengths: Sequence[int]) -> list[SampleShape]:
    return [
        SampleShape(
            sample_id=f"s{i}",
            rollout_id=f"r{i}",
            group_id=f"g{i // 8}",
            num_tokens=length,
            num_loss_tokens=length - length // 4,
        )
        for i, length in enumerate(lengths)
    ]


def schedule_of(samples: Sequence[SampleShape], geometry: StepGeometry) -> DpSchedule:
    return build_dp_schedule(
        samples,
        [range(len(samples))],
        geometry=geometry,
        cost_model=COST_MODEL,
        loss_aggregation=LossAggregation.ROLLOUT_MEAN,
    )


def judge(ranks: Sequence[Sequence[Sequence[int]]], lengths: Sequence[int]) -> Judged:
    """ranks: sample indices by dp_rank and micro-batch."""
    cost = COST_MODEL.costs(lengths).tolist()
    loads = [sum(cost[i] for micro_batch in rank for i in micro_batch) for rank in ranks]
    tokens = [sum(lengths[i] for i in micro_batch) for rank in ranks for micro_batch in rank if micro_batch]
    return Judged(
        num_micro_batches=len(tokens),
        num_over_cap=sum(load > TOKEN_CAP for load in tokens),
        max_over_mean=max(loads) * len(loads) / sum(loads),
    )


def allowed_micro_batches(lengths: Sequence[int], dp_size: int) -> int:
    """What first-fit decreasing needs, rounded up to equally many for every rank."""
    return -(-len(first_fit_decreasing(lengths, TOKEN_CAP)) // dp_size) * dp_size


def times_and_loads() -> Table:
    """The budgets of the house, for each kind of lengths."""
    table = Table(title=f"build_dp_schedule, cap {TOKEN_CAP:,}, best of {NUM_REPEATS}")
    for name in (
        "lengths",
        "dummies",
        "samples",
        "dp",
        "ms",
        "of budget",
        "certificate ms",
        "micro-batches",
        "allowed",
    ):
        table.add_column(name, justify="right")
    for name in ("max / mean", "bound / mean"):
        table.add_column(name, justify="right")
    for distribution in DISTRIBUTIONS:
        for num_samples, dp_size, budget_s in BUDGETS:
            for pp in (1, 2):
                geometry = StepGeometry(dp_size=dp_size, token_cap=TOKEN_CAP, pp=pp)
                table.add_row(*_budget_row(distribution, num_samples, budget_s, geometry))
    return table


def _budget_row(distribution: str, num_samples: int, budget_s: float, geometry: StepGeometry) -> list[str]:
    lengths = draw_lengths(distribution, num_samples, longest=TOKEN_CAP)
    samples = shapes_of(lengths)
    seconds, schedule = best_s(lambda: schedule_of(samples, geometry))
    certificate_s, _ = best_s(
        lambda: certify(samples, loss_aggregation=LossAggregation.ROLLOUT_MEAN, constant_tokens=None)
    )
    step = schedule.step(0)
    figures = step_figures(step, lengths=lengths, geometry=geometry, cost_model=COST_MODEL)
    judged = judge(step.micro_batches, lengths)
    return [
        distribution,
        "skipped" if geometry.skips_dummies else "run",
        f"{num_samples:,}",
        str(geometry.dp_size),
        f"{seconds * 1e3:.1f}",
        f"{seconds / budget_s:.2f}",
        f"{certificate_s * 1e3:.1f}",
        f"{judged.num_micro_batches:,}",
        f"{allowed_micro_batches(lengths, geometry.dp_size):,}",
        f"{judged.max_over_mean:.5f}",
        f"{1 / (1 - figures.idle_bound_frac):.5f}",
    ]


def growth() -> Table:
    """Time as a power of the number of samples; N log N would be just above 1."""
    few, many = GROWTH_SIZES
    table = Table(title=f"Growth, dp {GROWTH_DP}: time ~ N^x")
    for name in ("lengths", f"{few:,}: ms", f"{many:,}: ms", "x"):
        table.add_column(name, justify="right")
    for distribution in DISTRIBUTIONS:
        seconds = [_growth_s(distribution, num_samples) for num_samples in GROWTH_SIZES]
        exponent = math.log(seconds[1] / seconds[0]) / math.log(many / few)
        table.add_row(distribution, *(f"{s * 1e3:.1f}" for s in seconds), f"{exponent:.2f}")
    return table


def _growth_s(distribution: str, num_samples: int) -> float:
    samples = shapes_of(draw_lengths(distribution, num_samples, longest=TOKEN_CAP))
    return best_s(lambda: schedule_of(samples, StepGeometry(dp_size=GROWTH_DP, token_cap=TOKEN_CAP)))[0]


def peers() -> Table:
    """Beside what others do, on a size that the slowest of them can bear."""
    table = Table(title=f"Peers, {PEER_SIZE:,} samples, dp {PEER_DP}")
    for name in ("lengths", "scheduler", "ms", "times ours", "micro-batches", "above the cap", "max / mean"):
        table.add_column(name, justify="right")
    for distribution in DISTRIBUTIONS:
        for row in _peer_rows(distribution):
            table.add_row(*row)
    return table


def _peer_rows(distribution: str) -> Iterator[list[str]]:
    lengths = draw_lengths(distribution, PEER_SIZE, longest=TOKEN_CAP)
    samples = shapes_of(lengths)
    count = allowed_micro_batches(lengths, PEER_DP)
    ours_s, schedule = best_s(lambda: schedule_of(samples, StepGeometry(dp_size=PEER_DP, token_cap=TOKEN_CAP)))
    arrival_s, arrival = best_s(lambda: arrival_first_fit(lengths, TOKEN_CAP))
    differencing_s, differenced = best_s(lambda: karmarkar_karp(lengths, count), num_repeats=1)
    for name, seconds, ranks in (
        ("ours", ours_s, schedule.step(0).micro_batches),
        ("arrival-order first fit, in turn", arrival_s, in_turn(arrival)),
        ("Karmarkar–Karp into micro-batches, in turn", differencing_s, in_turn(differenced)),
    ):
        judged = judge(ranks, lengths)
        yield [
            distribution,
            name,
            f"{seconds * 1e3:.1f}",
            f"{seconds / ours_s:.1f}",
            str(judged.num_micro_batches),
            str(judged.num_over_cap),
            f"{judged.max_over_mean:.4f}",
        ]


def in_turn(bins: list[list[int]]) -> list[list[list[int]]]:
    return [bins[rank::PEER_DP] for rank in range(PEER_DP)]


def main() -> None:
    console = Console(width=160)
    for part in (times_and_loads, growth, peers):
        console.print(part())


if __name__ == "__main__":
    main()
