"""The scheduler's times, growth, loads, bounds and peers: `python -m bench.schedule`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
from rich.console import Console
from rich.table import Table

from bench.barriers import pipelines, rows
from bench.lengths import DISTRIBUTIONS, draw_lengths
from bench.reference_packers import arrival_first_fit, karmarkar_karp
from bench.scheduled import (
    COST_MODEL,
    TOKEN_CAP,
    judge,
    num_first_fit_decreasing,
    schedule_of,
    shapes_of,
)
from bench.timing import NUM_REPEATS, best_s
from orchestrator.geometry import StepGeometry
from orchestrator.loss_weights import certify
from orchestrator.placing.makespan_bound import makespan_bound
from trainer.contracts.certificate import LossAggregation

# Samples, ranks, and what the house allows for the schedule and its certificate together.
BUDGETS = ((8_192, 64, 0.025), (65_536, 128, 0.300))
GROWTH_SIZES = (1_024, 65_536)
# Few ranks, so that it is the samples that are measured: a rank of few samples takes longer to balance.
GROWTH_DP = 8
PEER_SIZE, PEER_DP = 1_024, 8
SMALL_STEPS = ((64, 8), (128, 8), (256, 8), (256, 32), (512, 64), (1_024, 64))
NUM_SMALL_STEPS = 12
FEW_LENGTHS = ((500, 501, 1000, 1001), (950, 951), (90, 100), tuple(range(18, 30)))
FEW_LENGTHS_SIZES = ((8_192, 64), (8_192, 256), (8_192, 1_000), (65_536, 8_000))
# What the house wants of the heaviest rank wherever the bound allows it.
WANTED_MAX_OVER_MEAN = 1.002


def times_and_loads() -> Table:
    """The budgets of the house, for each kind of lengths, without and with a pipeline.

    A pipeline needs as many micro-batches on every rank, and so a few more than first-fit decreasing (FFD).
    """
    table = Table(title=f"build_dp_schedule, cap {TOKEN_CAP:,}, best of {NUM_REPEATS}")
    for name in ("lengths", "pp", "samples", "dp", "ms", "of budget", "certificate ms", "micro-batches", "FFD"):
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
    judged = judge(schedule.step(0).micro_batches, lengths)
    cost = COST_MODEL.costs(lengths)
    bound_over_mean = makespan_bound(cost, geometry.dp_size) * geometry.dp_size / cost.sum()
    return [
        distribution,
        str(geometry.pp),
        f"{num_samples:,}",
        str(geometry.dp_size),
        f"{seconds * 1e3:.1f}",
        f"{seconds / budget_s:.2f}",
        f"{certificate_s * 1e3:.1f}",
        f"{judged.num_micro_batches:,}",
        f"{num_first_fit_decreasing(lengths):,}",
        f"{judged.max_over_mean:.5f}",
        f"{bound_over_mean:.5f}",
    ]


def few_lengths() -> Table:
    """Samples of few lengths, where most exchanges between ranks change nothing, on many ranks."""
    table = Table(title=f"Few lengths, cap {TOKEN_CAP:,}, best of {NUM_REPEATS}")
    for name in ("lengths", "samples", "dp", "ms", "micro-batches", "FFD", "max / mean", "bound / mean"):
        table.add_column(name, justify="right")
    for values in FEW_LENGTHS:
        for num_samples, dp_size in FEW_LENGTHS_SIZES:
            table.add_row(" ".join(map(str, values)), *_few_lengths_row(values, num_samples, dp_size))
    return table


def _few_lengths_row(values: Sequence[int], num_samples: int, dp_size: int) -> list[str]:
    lengths = np.random.default_rng(0).choice(values, num_samples).tolist()
    samples, cost = shapes_of(lengths), COST_MODEL.costs(lengths)
    seconds, schedule = best_s(lambda: schedule_of(samples, StepGeometry(dp_size=dp_size, token_cap=TOKEN_CAP)))
    judged = judge(schedule.step(0).micro_batches, lengths)
    return [
        f"{num_samples:,}",
        f"{dp_size:,}",
        f"{seconds * 1e3:.1f}",
        f"{judged.num_micro_batches:,}",
        f"{num_first_fit_decreasing(lengths):,}",
        f"{judged.max_over_mean:.5f}",
        f"{makespan_bound(cost, dp_size) * dp_size / cost.sum():.5f}",
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
    geometry = StepGeometry(dp_size=GROWTH_DP, token_cap=TOKEN_CAP)
    return best_s(lambda: schedule_of(samples, geometry))[0]


def small_steps() -> Table:
    """Steps of few samples a rank, where packing leaves little to balance with."""
    table = Table(title=f"Small steps, {NUM_SMALL_STEPS} of each: max / mean, and its lower bound")
    for name in (
        "lengths",
        "samples",
        "dp",
        "ms",
        "micro-batches",
        "FFD",
        "mean",
        "mean bound",
        "worst",
        f"> {WANTED_MAX_OVER_MEAN}, of those",
    ):
        table.add_column(name, justify="right")
    for distribution in DISTRIBUTIONS:
        for num_samples, dp_size in SMALL_STEPS:
            table.add_row(*_small_row(distribution, num_samples, dp_size))
    return table


def _small_row(distribution: str, num_samples: int, dp_size: int) -> list[str]:
    geometry = StepGeometry(dp_size=dp_size, token_cap=TOKEN_CAP)
    all_seconds, reached, bounds, num_micro_batches, num_needed = [], [], [], 0, 0
    for seed in range(NUM_SMALL_STEPS):
        lengths = draw_lengths(distribution, num_samples, longest=TOKEN_CAP, seed=seed)
        samples, cost = shapes_of(lengths), COST_MODEL.costs(lengths)
        seconds, schedule = best_s(partial(schedule_of, samples, geometry), num_repeats=1)
        all_seconds.append(seconds)
        judged = judge(schedule.step(0).micro_batches, lengths)
        reached.append(judged.max_over_mean)
        num_micro_batches += judged.num_micro_batches
        num_needed += num_first_fit_decreasing(lengths)
        bounds.append(makespan_bound(cost, dp_size) * dp_size / cost.sum())
    possible = [own for own, bound in zip(reached, bounds, strict=True) if bound <= WANTED_MAX_OVER_MEAN]
    return [
        distribution,
        f"{num_samples:,}",
        str(dp_size),
        f"{np.mean(all_seconds) * 1e3:.1f}",
        f"{num_micro_batches:,}",
        f"{num_needed:,}",
        f"{np.mean(reached):.4f}",
        f"{np.mean(bounds):.4f}",
        f"{max(reached):.4f}",
        f"{sum(own > WANTED_MAX_OVER_MEAN for own in possible)} of {len(possible)}",
    ]


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
    samples, geometry = shapes_of(lengths), StepGeometry(dp_size=PEER_DP, token_cap=TOKEN_CAP)
    count = num_first_fit_decreasing(lengths)
    ours_s, schedule = best_s(lambda: schedule_of(samples, geometry))
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
    for part in (times_and_loads, few_lengths, growth, small_steps, peers, rows, pipelines):
        console.print(part())


if __name__ == "__main__":
    main()
