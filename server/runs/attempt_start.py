"""The beginning of an attempt, whoever records it: its row, its token, and the run in `starting`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, insert, select, update

from orchestrator.contracts.run_state import RunTrigger
from server.auth.random_token import hash_token, new_token
from server.database.tables import attempts, runs
from server.runs.transitions import Transition, apply_trigger


@dataclass(frozen=True, slots=True, kw_only=True)
class StartedAttempt:
    """An attempt that was just begun. The token is told here and never again."""

    number: int
    token: str
    transition: Transition | None


def start_attempt(connection: Connection, *, run_key: int, now: datetime) -> StartedAttempt:
    """Begin the next attempt of a queued run. From then on writers of older attempts are refused."""
    number = connection.execute(select(runs.c.attempt).where(runs.c.key == run_key)).scalar_one() + 1
    token = new_token("swi")
    row = {"run_key": run_key, "number": number, "token_hash": hash_token(token), "created_at": now}
    connection.execute(insert(attempts).values(row))
    connection.execute(
        update(runs).where(runs.c.key == run_key).values(attempt=number, last_heartbeat_at=None, activity=None)
    )
    transition = apply_trigger(connection, run_key=run_key, trigger=RunTrigger.LAUNCH, now=now)
    return StartedAttempt(number=number, token=token, transition=transition)
