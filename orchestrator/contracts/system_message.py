"""How busy the machine of a run is. Part of a heartbeat, every few of them."""

from __future__ import annotations

from typing import Annotated

from pydantic import AwareDatetime, Field, NonNegativeFloat, NonNegativeInt, PositiveInt

from trainer.contracts.text_model import Name, TextModel


class ProcessSample(TextModel):
    """One process of the run."""

    name: Name
    """`driver`, `rank 0`, `engine 1`."""
    cpu_cores: NonNegativeFloat
    """Cores kept busy since the sample before; 1.0 is one whole core."""
    memory_bytes: NonNegativeInt
    """Resident."""


class GpuSample(TextModel):
    """One GPU of the driver's machine."""

    index: NonNegativeInt
    utilization_frac: Annotated[float, Field(ge=0.0, le=1.0)]
    memory_bytes: NonNegativeInt
    memory_total_bytes: PositiveInt


class SystemSample(TextModel):
    """The machine that the driver runs on, at one moment."""

    at: AwareDatetime
    num_cpus: PositiveInt
    cpu_frac: Annotated[float, Field(ge=0.0, le=1.0)]
    """Of all cores, whoever uses them, since the sample before."""
    memory_bytes: NonNegativeInt
    """In use, whoever uses it."""
    memory_total_bytes: PositiveInt
    processes: tuple[ProcessSample, ...]
    gpus: tuple[GpuSample, ...] = ()
    generated_tokens_per_s: NonNegativeFloat | None = None
    """Of all engines, over their last generation; None: they have not generated yet."""
