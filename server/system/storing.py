"""All SQL that stores samples of a machine."""

from __future__ import annotations

from sqlalchemy import Connection, insert, select

from orchestrator.contracts.system_message import SystemSample
from server.database.packing import pack_json
from server.database.tables import is_storable, system_samples
from server.errors import InvalidError


def pack_sample(sample: SystemSample) -> bytes:
    """What is stored of it. Raises InvalidError for a moment that no database can hold."""
    if not is_storable(sample.at):
        raise InvalidError([("/system/at", "is no moment that can be told; check the clock")])
    return pack_json(sample.model_dump_json().encode())


def insert_sample(connection: Connection, run_key: int, attempt: int, sample: SystemSample, blob: bytes) -> None:
    """Store a sample that is newer than those of the attempt; a repeat and one that comes late are left out."""
    newest = connection.execute(
        select(system_samples.c.number, system_samples.c.at)
        .where(system_samples.c.run_key == run_key, system_samples.c.attempt == attempt)
        .order_by(system_samples.c.number.desc())
        .limit(1)
    ).one_or_none()
    if newest is not None and newest.at >= sample.at:
        return
    number = 0 if newest is None else newest.number + 1
    connection.execute(
        insert(system_samples).values(run_key=run_key, attempt=attempt, number=number, at=sample.at, blob=blob)
    )
