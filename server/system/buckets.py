"""Puts samples of a machine into columns, in equal buckets of time. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from orchestrator.contracts.system_message import SystemSample
from server.system.schemas import SystemFigure, SystemSeries

SeriesKey = tuple[SystemFigure, str | None]


def figures_of(sample: SystemSample) -> Iterator[tuple[SeriesKey, float]]:
    """Everything that a sample measures."""
    yield (SystemFigure.CPU_FRAC, None), sample.cpu_frac
    yield (SystemFigure.MEMORY_BYTES, None), float(sample.memory_bytes)
    if sample.generated_tokens_per_s is not None:
        yield (SystemFigure.GENERATED_TOKENS_PER_S, None), sample.generated_tokens_per_s
    for process in sample.processes:
        yield (SystemFigure.PROCESS_CPU_CORES, process.name), process.cpu_cores
        yield (SystemFigure.PROCESS_MEMORY_BYTES, process.name), float(process.memory_bytes)
    for gpu in sample.gpus:
        yield (SystemFigure.GPU_UTILIZATION_FRAC, f"gpu {gpu.index}"), gpu.utilization_frac
        yield (SystemFigure.GPU_MEMORY_BYTES, f"gpu {gpu.index}"), float(gpu.memory_bytes)


def into_columns(
    samples: Sequence[SystemSample], *, max_points: int
) -> tuple[tuple[float, ...], tuple[SystemSeries, ...]]:
    """The times of the buckets and the series in them. samples: by time; one bucket each where they are few enough."""
    at: list[float] = []
    cells: dict[SeriesKey, dict[int, list[float]]] = {}
    last_place: int | None = None
    for k, sample in enumerate(samples):
        place = _place(k, sample, samples, max_points)
        if place != last_place:
            at.append(sample.at.timestamp())
            last_place = place
        for key, value in figures_of(sample):
            cells.setdefault(key, {}).setdefault(len(at) - 1, []).append(value)
    series = tuple(
        SystemSeries(
            figure=figure,
            of=of,
            mean=tuple(_mean(columns.get(i, [])) for i in range(len(at))),
            max=tuple(max(columns.get(i, []), default=None) for i in range(len(at))),
        )
        for (figure, of), columns in cells.items()
    )
    return tuple(at), series


def _place(k: int, sample: SystemSample, samples: Sequence[SystemSample], max_points: int) -> int:
    if len(samples) <= max_points:
        return k
    span_s = (samples[-1].at - samples[0].at).total_seconds()
    return math.floor((sample.at - samples[0].at).total_seconds() / span_s * (max_points - 1)) if span_s > 0 else 0


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(value / len(values) for value in values) if values else None
