"""Makes external runs and their attempts, and recorders for them.

A journal is a directory of one run: `recorder.json` says where its records go, `attempt-1.jsonl` holds them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import orjson

from orchestrator.reporting.journal import Journal
from server.client.connection import Connection
from server.client.recording.attempt import RecordedAttempt
from server.client.recording.recorder import MAX_QUEUED_STEPS, Recorder
from server.external.schemas import ExternalAttempt
from server.runs.schemas import CreatedRun

_DELIVER_TIMEOUT_S = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RecorderOptions:
    """How a recorder keeps what it has not delivered, and what it knows of the end."""

    journal: Path | None = None
    """A directory of this run's own; None: in memory."""
    total_steps: int | None = None
    max_queued_steps: int = MAX_QUEUED_STEPS


def create_attempt(
    connection: Connection, *, name: str, config: Mapping[str, Any], tags: Mapping[str, str]
) -> RecordedAttempt:
    """Make an external run, ready to be recorded. A connection that breaks makes no second one."""
    body = {"kind": "external", "name": name, "config": json_of(config), "tags": dict(tags)}
    made = connection.ask(CreatedRun, "POST", "/runs", json=body, headers={"Idempotency-Key": uuid4().hex})
    if made.ingest_token is None:
        # The answer with the token was lost on its way, and is not given twice.
        return next_attempt(connection, made.id)
    return RecordedAttempt(
        server_url=connection.url, run_id=made.id, number=made.attempt, ingest_token=made.ingest_token
    )


def next_attempt(connection: Connection, run_id: str) -> RecordedAttempt:
    """Go on with an external run, e.g. after its process died. The attempt before is fenced off."""
    begun = connection.ask(ExternalAttempt, "POST", f"/runs/{run_id}/attempts")
    return RecordedAttempt(
        server_url=connection.url, run_id=begun.run_id, number=begun.attempt, ingest_token=begun.ingest_token
    )


def make_recorder(attempt: RecordedAttempt, options: RecorderOptions) -> Recorder:
    """A recorder that sends from now on."""
    journal = None if options.journal is None else _new_journal(options.journal, attempt)
    return Recorder(
        attempt, journal=journal, total_steps=options.total_steps, max_queued_steps=options.max_queued_steps
    )


def deliver_journal(directory: Path, *, timeout_s: float = _DELIVER_TIMEOUT_S) -> bool:
    """Send what the journal of a process that is gone still holds. Returns whether the server has all of it now.

    No token is needed: the journal has that of its attempt. To do it twice is harmless.
    """
    attempt = RecordedAttempt.model_validate_json(_place(directory).read_bytes())
    recorder = Recorder(attempt, journal=_journal(directory, attempt))
    try:
        return recorder.flush(timeout_s=timeout_s)
    finally:
        recorder.close()


def json_of(config: Mapping[str, Any]) -> Any:
    """A config as JSON: what JSON has no word for becomes text, NaN and infinities null.

    >>> json_of({"path": Path("a"), 1: float("nan")})
    {'path': 'a', '1': None}
    """
    options = orjson.OPT_NON_STR_KEYS | orjson.OPT_SERIALIZE_NUMPY
    return orjson.loads(orjson.dumps(dict(config), default=str, option=options))


def _new_journal(directory: Path, attempt: RecordedAttempt) -> Journal:
    directory.mkdir(parents=True, exist_ok=True)
    place = _place(directory)
    place.unlink(missing_ok=True)
    # It holds a token: nobody else may read it, not even for a moment.
    with os.fdopen(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(attempt.model_dump_json())
    return _journal(directory, attempt)


def _journal(directory: Path, attempt: RecordedAttempt) -> Journal:
    return Journal(directory / f"attempt-{attempt.number}.jsonl")


def _place(directory: Path) -> Path:
    return directory / "recorder.json"
