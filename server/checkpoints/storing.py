"""All SQL that stores what a driver tells of its checkpoints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, select

from orchestrator.contracts.checkpoint_messages import CheckpointMessage
from server.database.engine import upsert_raw
from server.database.tables import checkpoints, is_storable, to_microseconds
from server.errors import ConflictError, InvalidError
from server.ingest.verify import MAX_COUNT, Finding

_FIELDS = tuple(CheckpointMessage.model_fields)
_KEY = ("run_key", "attempt", "step")


def check_checkpoints(messages: Sequence[CheckpointMessage]) -> None:
    """Raises InvalidError for what no database can hold."""
    errors: list[Finding] = []
    for i, message in enumerate(messages):
        if not is_storable(message.at):
            errors.append((f"/checkpoints/{i}/at", f"is {message.at}; check the driver's clock"))
        for name, value in message:
            if isinstance(value, int) and value > MAX_COUNT:
                errors.append((f"/checkpoints/{i}/{name}", f"is {value}; at most {MAX_COUNT} can be recorded"))
    if errors:
        raise InvalidError(errors)


def upsert_checkpoints(
    connection: Connection, run_key: int, attempt: int, messages: Sequence[CheckpointMessage]
) -> list[CheckpointMessage]:
    """Store what is news, and return it: a later message of a step takes the place of an earlier one.

    One that is older than what is stored comes from a journal that is sent again: a duplicate. Raises ConflictError for
    two messages of one moment that say different things.
    """
    query = select(*(checkpoints.c[name] for name in _FIELDS)).where(
        checkpoints.c.run_key == run_key,
        checkpoints.c.attempt == attempt,
        checkpoints.c.step.in_({message.step for message in messages}),
    )
    known: dict[int, tuple[Any, ...]] = {row.step: tuple(row) for row in connection.execute(query)}
    at = _FIELDS.index("at")
    news: list[CheckpointMessage] = []
    for i, message in enumerate(messages):
        told = tuple(getattr(message, name) for name in _FIELDS)
        stored = known.get(message.step)
        if stored is not None and stored[at] == message.at and stored != told:
            other = f"The checkpoint of step {message.step} is recorded with other content."
            raise ConflictError("conflicting-checkpoint", other, pointer=f"/checkpoints/{i}")
        if stored is None or stored[at] < message.at:
            known[message.step] = told
            news.append(message)
    rows = {message.step: _row(run_key, attempt, message) for message in news}
    if rows:
        upsert_raw(connection, checkpoints, (*_KEY[:2], *_FIELDS), list(rows.values()), key=_KEY)
    return news


def _row(run_key: int, attempt: int, message: CheckpointMessage) -> tuple[Any, ...]:
    values = (getattr(message, name) for name in _FIELDS)
    return (
        run_key,
        attempt,
        *(to_microseconds(v) if name == "at" else v for name, v in zip(_FIELDS, values, strict=True)),
    )
