"""What the API says of the machine that a run is on."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from trainer.contracts.text_model import TextModel


class SystemFigure(StrEnum):
    """What is measured."""

    CPU_FRAC = "cpu_frac"
    """Share of all cores of the machine, whoever uses them."""
    MEMORY_BYTES = "memory_bytes"
    """In use on the machine, whoever uses it."""
    GENERATED_TOKENS_PER_S = "generated_tokens_per_s"
    """Of all engines, over their last generation."""
    PROCESS_CPU_CORES = "process_cpu_cores"
    """Cores that one process keeps busy."""
    PROCESS_MEMORY_BYTES = "process_memory_bytes"
    """Resident memory of one process."""
    GPU_UTILIZATION_FRAC = "gpu_utilization_frac"
    GPU_MEMORY_BYTES = "gpu_memory_bytes"


class SystemSeries(TextModel):
    """One figure over time, in columns as long as `at`."""

    figure: SystemFigure
    of: str | None
    """The process, or `gpu 0`; null: the machine."""
    mean: tuple[float | None, ...]
    """Over the bucket; null: not measured."""
    max: tuple[float | None, ...]


class SystemHistory(TextModel):
    """How busy the machine was, over all attempts of the run."""

    at: tuple[float, ...]
    """When the bucket's first sample was taken, in seconds since 1970-01-01 UTC."""
    series: tuple[SystemSeries, ...]
    total: int
    """Samples in the range."""
    sampled: bool
    """Whether a bucket stands for several samples."""
    first_at: datetime | None
    """Of all samples of the run, whatever the range."""
    last_at: datetime | None
    num_cpus: int | None
    """By the newest sample in the range, as are the next two; null without any."""
    memory_total_bytes: int | None
    gpu_memory_total_bytes: dict[str, int]
    """By `gpu 0`."""
