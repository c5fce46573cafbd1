"""Steps whose ranks meet at every micro-batch, or run a pipeline: how much they wait, and how much they must."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from rich.table import Table

from bench.lengths import DISTRIBUTIONS, draw_lengths
from bench.scheduled import TOKEN_CAP, figures_of, schedule_of, shapes_of
from bench.timing import best_s
from orchestrator.contracts.schedule_spec import Balance, Barrier, Packer
from orchestrator.geometry import StepGeometry

SIZES = ((256, 8), (1_024, 8), (8_192, 64))
WAYS: Mapping[str, Mapping[str, Any]] = {
    "arrival order, dealt out in turn": {"packer": Packer.FIRST_FIT, "balance": Balance.NONE},
    "arrival order, rows of equal work": {"packer": Packer.FIRST_FIT},
    "rows of equal work": {},
}
PIPELINES = ((2, 1), (4, 1), (4, 2))


def rows() -> Table:
    """Ranks that meet at every micro-batch."""
    table = Table(title=f"A barrier at every micro-batch, cap {TOKEN_CAP:,}: predicted idle %")
    for name in ("lengths", "samples", "dp", *WAYS, "ms of the last"):
        table.add_column(name, justify="right")
    for distribution in DISTRIBUTIONS:
        for num_samples, dp_size in SIZES:
            table.add_row(*_rows_row(distribution, num_samples, dp_size))
    return table


def _rows_row(distribution: str, num_samples: int, dp_size: int) -> list[str]:
    lengths = draw_lengths(distribution, num_samples, longest=TOKEN_CAP)
    samples, idle, seconds = shapes_of(lengths), [], 0.0
    for way in WAYS.values():
        geometry = StepGeometry(dp_size=dp_size, token_cap=TOKEN_CAP, barrier=Barrier.MICRO_BATCH, **way)
        seconds, schedule = best_s(partial(schedule_of, samples, geometry), num_repeats=3)
        idle.append(figures_of(schedule, lengths, geometry).predicted_idle_frac)
    return [
        distribution,
        f"{num_samples:,}",
        str(dp_size),
        *(f"{100 * frac:.2f}" for frac in idle),
        f"{seconds * 1e3:.1f}",
    ]


def pipelines() -> Table:
    """Pipelines, whose bubble no schedule can avoid."""
    table = Table(title=f"Pipelines, 1,024 samples, dp 8, cap {TOKEN_CAP:,}: predicted idle % and its bound")
    for name in ("lengths", *(f"pp {pp}, vpp {vpp}" for pp, vpp in PIPELINES)):
        table.add_column(name, justify="right")
    for distribution in DISTRIBUTIONS:
        lengths = draw_lengths(distribution, 1_024, longest=TOKEN_CAP)
        samples, cells = shapes_of(lengths), []
        for pp, vpp in PIPELINES:
            geometry = StepGeometry(dp_size=8, token_cap=TOKEN_CAP, pp=pp, vpp=vpp)
            figures = figures_of(schedule_of(samples, geometry), lengths, geometry)
            cells.append(f"{100 * figures.predicted_idle_frac:.2f} ({100 * figures.idle_bound_frac:.2f})")
        table.add_row(distribution, *cells)
    return table
