"""All SQL that gathers what the rules look at: the newest steps of a run, and the iterations that they belong to."""

from __future__ import annotations

from datetime import datetime

import orjson
from sqlalchemy import Connection, func, select

from orchestrator.contracts.rollout_messages import RolloutFate
from orchestrator.contracts.run_state import RunState
from server.advisories.facts import IterationRewards, RunFacts, WaitedRollout
from server.database.tables import rollout_fates, rollouts, runs
from server.rollouts import books
from server.rollouts.schemas import IterationBooks
from server.steps import queries as step_queries
from server.steps.lineage import Segment, current_view, in_iteration_segments, iteration_segments

_MAX_ITERATIONS = 20


def run_facts(connection: Connection, run_key: int, *, num_steps: int, now: datetime) -> RunFacts:
    """What is known of the newest `num_steps` steps, and of at most 20 iterations."""
    run = connection.execute(select(runs.c.state, runs.c.activity, runs.c.spec).where(runs.c.key == run_key)).one()
    newest = books.newest(connection, run_key, limit=_MAX_ITERATIONS)
    view = current_view(iteration_segments(connection, run_key))
    return RunFacts(
        is_running=run.state == RunState.RUNNING,
        now=now,
        activity=run.activity,
        dp=_dp(run.spec),
        steps=step_queries.newest(connection, run_key, limit=num_steps),
        books=newest,
        rewards=_rewards(connection, run_key, view, newest),
        oldest_trained=_oldest_trained(connection, run_key, view, newest),
        truncated_rollout=_example(connection, run_key, view, newest, truncated=True),
        unscorable_rollout=_example(connection, run_key, view, newest, truncated=False),
    )


def _dp(spec: str) -> int | None:
    """Of a run that Swell does not manage the spec may be anything."""
    told = orjson.loads(spec)
    layout = told.get("parallelism") if isinstance(told, dict) else None
    dp = layout.get("dp") if isinstance(layout, dict) else None
    return dp if isinstance(dp, int) and dp > 0 else None


def _rewards(
    connection: Connection, run_key: int, view: list[Segment], newest: list[IterationBooks]
) -> list[IterationRewards]:
    if not newest:
        return []
    query = (
        select(
            rollouts.c.iteration,
            func.count(rollouts.c.reward),
            func.min(rollouts.c.reward),
            func.max(rollouts.c.reward),
            func.min(rollouts.c.rollout_id),
        )
        .where(
            in_iteration_segments(rollouts, run_key, view),
            rollouts.c.iteration >= newest[0].iteration,
            rollouts.c.reward.is_not(None),
        )
        .group_by(rollouts.c.iteration)
        .order_by(rollouts.c.iteration)
    )
    return [
        IterationRewards(iteration=row[0], num_scored=row[1], low=row[2], high=row[3], rollout_id=row[4])
        for row in connection.execute(query)
    ]


def _oldest_trained(
    connection: Connection, run_key: int, view: list[Segment], newest: list[IterationBooks]
) -> WaitedRollout | None:
    if not newest:
        return None
    query = (
        select(rollout_fates)
        .where(
            in_iteration_segments(rollout_fates, run_key, view),
            rollout_fates.c.iteration >= newest[0].iteration,
            rollout_fates.c.fate == RolloutFate.TRAINED,
        )
        .order_by(rollout_fates.c.age.desc(), rollout_fates.c.iteration.desc())
    )
    row = connection.execute(query.limit(1)).one_or_none()
    return None if row is None else WaitedRollout(rollout_id=row.rollout_id, step=row.step, age=row.age)


def _example(
    connection: Connection, run_key: int, view: list[Segment], newest: list[IterationBooks], *, truncated: bool
) -> str | None:
    """A rollout of the newest iterations that was cut, or else one that could not be scored."""
    if not newest:
        return None
    odd = rollouts.c.truncated.is_(True) if truncated else rollouts.c.reward.is_(None)
    query = select(rollouts.c.rollout_id).where(
        in_iteration_segments(rollouts, run_key, view), rollouts.c.iteration >= newest[0].iteration, odd
    )
    found: str | None = connection.scalar(query.order_by(rollouts.c.iteration.desc()).limit(1))
    return found
