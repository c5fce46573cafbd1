"""All SQL that reads samples of a machine."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection, func, select

from orchestrator.contracts.system_message import SystemSample
from server.database.packing import unpack_json
from server.database.tables import system_samples
from server.system.buckets import into_columns
from server.system.schemas import SystemHistory

_MAX_SAMPLES = 4_000
"""Unpacked for one answer, about 100 ms; of more, every so many-th is read."""


def system_history(
    connection: Connection, run_key: int, *, first: datetime | None, end: datetime | None, max_points: int
) -> SystemHistory:
    """The samples from a moment up to another, in at most `max_points` buckets."""
    mine = system_samples.c.run_key == run_key
    first_at, last_at = connection.execute(
        select(func.min(system_samples.c.at), func.max(system_samples.c.at)).where(mine)
    ).one()
    terms = [mine]
    if first is not None:
        terms.append(system_samples.c.at >= first)
    if end is not None:
        terms.append(system_samples.c.at < end)
    total = connection.scalar(select(func.count()).select_from(system_samples).where(*terms)) or 0
    stride = -(-total // _MAX_SAMPLES) or 1
    query = select(system_samples.c.blob).where(*terms, system_samples.c.number % stride == 0)
    blobs = connection.execute(query.order_by(system_samples.c.at, system_samples.c.attempt)).scalars()
    samples = [SystemSample.model_validate(unpack_json(blob)) for blob in blobs]
    at, series = into_columns(samples, max_points=max_points)
    newest = samples[-1] if samples else None
    return SystemHistory(
        at=at,
        series=series,
        total=total,
        sampled=len(at) < total,
        first_at=first_at,
        last_at=last_at,
        num_cpus=None if newest is None else newest.num_cpus,
        memory_total_bytes=None if newest is None else newest.memory_total_bytes,
        gpu_memory_total_bytes={}
        if newest is None
        else {f"gpu {gpu.index}": gpu.memory_total_bytes for gpu in newest.gpus},
    )
