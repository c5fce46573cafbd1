"""All SQL that reads rollouts without their tokens, and what later iterations made of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Row, select, tuple_

from orchestrator.contracts.rollout_messages import RolloutFate
from server.database.tables import rollout_fates, rollout_groups, rollouts
from server.rollouts.schemas import (
    MAX_BEGINNING_CHARS,
    MAX_LISTED_ROLLOUTS,
    LaterFate,
    RewardSummary,
    RolloutGroup,
    RolloutHead,
)
from server.rollouts.search import FoundGroup, group_texts
from server.steps.lineage import current_view, in_iteration_segments, iteration_segments

HEAD_COLUMNS = (
    *("rollout_id", "fate", "reason", "step", "age", "num_tokens", "truncated", "reward", "advantage"),
    *("first_policy_version", "last_policy_version"),
)


def groups_of(connection: Connection, run_key: int, found: Sequence[FoundGroup]) -> tuple[RolloutGroup, ...]:
    """The groups in the order in which they were found."""
    places = [(group.attempt, group.iteration, group.number) for group in found]
    key = tuple_(rollout_groups.c.attempt, rollout_groups.c.iteration, rollout_groups.c.number)
    columns = [column for column in rollout_groups.c if column.name != "texts"]
    rows = connection.execute(select(*columns).where(rollout_groups.c.run_key == run_key, key.in_(places)))
    groups = {(row.iteration, row.number): row for row in rows}
    texts = group_texts(connection, run_key, found)
    members = _members(connection, run_key, places)
    shown = [
        members[group.iteration, group.number][number]
        for group in found
        for number in group.matching[:MAX_LISTED_ROLLOUTS]
    ]
    later = later_fates(connection, run_key, shown)
    answer = []
    for group in found:
        place = (group.iteration, group.number)
        prompt, right, responses = texts.get(place, (None, None, None))
        row = groups[place]
        answer.append(
            RolloutGroup(
                iteration=row.iteration,
                attempt=row.attempt,
                group_id=row.group_id,
                task=row.task,
                num_prompt_tokens=row.num_prompt_tokens,
                prompt=_beginning(prompt),
                answer=_beginning(right),
                kept=place in texts,
                rewards=reward_summary([member.reward for member in members[place].values()]),
                num_matching=len(group.matching),
                rollouts=tuple(
                    _head(members[place][n], None if responses is None else responses[n], later)
                    for n in group.matching[:MAX_LISTED_ROLLOUTS]
                ),
            )
        )
    return tuple(answer)


def later_fates(connection: Connection, run_key: int, rows: Iterable[Row[Any]]) -> dict[tuple[int, str], LaterFate]:
    """What the newest iteration made of each rollout that was carried on, by (own iteration, rollout_id)."""
    carried = {row.rollout_id: row.iteration for row in rows if row.fate == RolloutFate.CARRIED}
    if not carried:
        return {}
    segments = current_view(iteration_segments(connection, run_key))
    query = select(rollout_fates).where(
        in_iteration_segments(rollout_fates, run_key, segments), rollout_fates.c.rollout_id.in_(list(carried))
    )
    found: dict[tuple[int, str], LaterFate] = {}
    for row in connection.execute(query.order_by(rollout_fates.c.iteration)):
        own = carried[row.rollout_id]
        if row.iteration > own:
            found[own, row.rollout_id] = LaterFate(
                iteration=row.iteration, fate=row.fate, reason=row.reason, step=row.step, age=row.age
            )
    return found


def reward_summary(rewards: Sequence[float | None]) -> RewardSummary:
    """The rewards of a group with their mean, spread and range.

    >>> reward_summary([0.0, 1.0, None]).mean
    0.5
    """
    scored = [reward for reward in rewards if reward is not None]
    if not scored:
        return RewardSummary(rewards=tuple(rewards), mean=None, std=None, low=None, high=None)
    # Rewards are anything that a float holds: their squares may be more.
    mean = math.fsum(reward / len(scored) for reward in scored)
    return RewardSummary(
        rewards=tuple(rewards),
        mean=mean,
        std=_finite(math.hypot(*(reward - mean for reward in scored)) / math.sqrt(len(scored))),
        low=min(scored),
        high=max(scored),
    )


def head_fields(row: Row[Any], text: str | None, later: LaterFate | None) -> dict[str, Any]:
    """The fields of a RolloutHead."""
    return {name: getattr(row, name) for name in HEAD_COLUMNS} | {"beginning": _beginning(text), "later": later}


def _head(row: Row[Any], text: str | None, later: Mapping[tuple[int, str], LaterFate]) -> RolloutHead:
    return RolloutHead(**head_fields(row, text, later.get((row.iteration, row.rollout_id))))


def _members(
    connection: Connection, run_key: int, places: Sequence[tuple[int, int, int]]
) -> dict[tuple[int, int], dict[int, Row[Any]]]:
    """The rollouts of groups, by (iteration, group number) and their own number."""
    key = tuple_(rollouts.c.attempt, rollouts.c.iteration, rollouts.c.group_number)
    query = select(rollouts).where(rollouts.c.run_key == run_key, key.in_(places))
    found: dict[tuple[int, int], dict[int, Row[Any]]] = {}
    for row in connection.execute(query.order_by(rollouts.c.number)):
        found.setdefault((row.iteration, row.group_number), {})[row.number] = row
    return found


def _beginning(text: str | None) -> str | None:
    return None if text is None else text[:MAX_BEGINNING_CHARS]


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
