"""All SQL that the ledger needs beside the books of iterations."""

from __future__ import annotations

from sqlalchemy import Connection, func, select

from orchestrator.contracts.messages import Phase
from server.database.tables import iterations, steps
from server.rollouts.books import in_view
from server.steps.lineage import current_view, in_segments, run_segments


def iterations_of_steps(connection: Connection, run_key: int, first_step: int, end_step: int) -> tuple[int, int]:
    """Iterations from a first up to an end: those that trained a step in [first_step, end_step), and what is between.

    Both are equal where there is none.
    """
    view = in_view(connection, run_key)
    query = select(func.min(iterations.c.iteration), func.max(iterations.c.iteration)).where(
        view, iterations.c.first_step < end_step, iterations.c.first_step + iterations.c.num_steps > first_step
    )
    low, high = connection.execute(query).one()
    return (0, 0) if low is None else (low, high + 1)


def trained_by_steps(connection: Connection, run_key: int, first: int, end: int) -> dict[int, int]:
    """Rollouts that the recorded steps of each iteration in [first, end) trained, where all its steps tell it."""
    view = in_segments(run_key, current_view(run_segments(connection, run_key)))
    query = (
        select(steps.c.iteration, func.sum(steps.c.num_rollouts), func.count(), func.count(steps.c.num_rollouts))
        .where(view, steps.c.phase == Phase.RL, steps.c.iteration >= first, steps.c.iteration < end)
        .group_by(steps.c.iteration)
    )
    return {row[0]: int(row[1]) for row in connection.execute(query) if row[2] == row[3]}
