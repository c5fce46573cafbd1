"""Lengths of the samples that a run has trained, for plans of runs to come. Read from the stored schedules."""

from __future__ import annotations

import zlib

import orjson
from sqlalchemy import Connection, or_, select

from orchestrator.contracts.messages import Phase
from server.database.tables import schedules, steps
from server.steps.lineage import current_view, in_segments, run_segments

MAX_SAMPLES = 100_000
_MAX_SCHEDULES = 1_000
"""Each is read whole for its lengths: so many take about a second, when they are large."""
_AT_A_TIME = 50


def stored_lengths(connection: Connection, run_key: int) -> list[int]:
    """Tokens of the samples of a run's newest steps of reinforcement, newest step first.

    At most MAX_SAMPLES of them, from at most 1,000 steps; empty when the run has no such step.
    """
    view = in_segments(run_key, current_view(run_segments(connection, run_key)))
    newest = (
        select(schedules.c.blob)
        .join(
            steps,
            (steps.c.run_key == schedules.c.run_key)
            & (steps.c.attempt == schedules.c.attempt)
            & (steps.c.step == schedules.c.step),
        )
        .where(view, or_(steps.c.phase == Phase.RL, steps.c.phase.is_(None)))
        .order_by(steps.c.step.desc())
        .limit(_MAX_SCHEDULES)
    )
    found: list[int] = []
    # Blobs come a few at a time: the first ones are often enough.
    for blob in connection.execution_options(yield_per=_AT_A_TIME).scalars(newest):
        found += orjson.loads(zlib.decompress(blob))["samples"]["num_tokens"]
        if len(found) >= MAX_SAMPLES:
            break
    return found[:MAX_SAMPLES]
