"""All SQL that reads the rollouts of a group whole, for exports."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, and_, select

from orchestrator.contracts.rollout_messages import RolloutFate
from server.database.packing import unpack_floats, unpack_json
from server.database.tables import rollout_groups, rollout_tokens, rollouts
from server.rollouts.heads import HEAD_COLUMNS, later_fates
from server.rollouts.schemas import IterationBooks
from trainer.contracts.text_model import TextModel


class RolloutRecord(TextModel):
    """One rollout with everything that is recorded of it. Texts and tokens are null or empty once they are pruned."""

    iteration: int
    attempt: int
    superseded: bool
    group_id: str
    task: str
    num_prompt_tokens: int
    prompt: str | None
    answer: str | None
    rollout_id: str
    fate: RolloutFate
    reason: str | None
    step: int | None
    age: int
    later_iteration: int | None
    """The newest iteration that took it up, when it was carried on; the next four are what came of it."""
    later_fate: RolloutFate | None
    later_reason: str | None
    later_step: int | None
    later_age: int | None
    num_tokens: int
    truncated: bool
    reward: float | None
    advantage: float | None
    first_policy_version: int
    last_policy_version: int
    text: str | None
    pieces: tuple[str, ...]
    log_probs: tuple[float, ...]
    trainer_log_probs: tuple[float, ...]


def group_records(
    connection: Connection, run_key: int, books: IterationBooks, number: int, *, superseded: bool
) -> list[RolloutRecord]:
    """The rollouts of the group with that number in its iteration."""
    place = {"run_key": run_key, "attempt": books.attempt, "iteration": books.iteration}
    group = connection.execute(
        select(rollout_groups)
        .where(*(rollout_groups.c[name] == value for name, value in place.items()))
        .where(rollout_groups.c.number == number)
    ).one_or_none()
    if group is None:
        return []
    prompt, answer, texts = (None, None, None) if group.texts is None else unpack_json(group.texts)
    same = and_(
        *(rollout_tokens.c[name] == rollouts.c[name] for name in (*place, "group_number", "number")),
    )
    columns = [*rollouts.c, *(rollout_tokens.c[name] for name in ("pieces", "log_probs", "trainer_log_probs"))]
    query = (
        select(*columns)
        .select_from(rollouts.outerjoin(rollout_tokens, same))
        .where(*(rollouts.c[name] == value for name, value in place.items()), rollouts.c.group_number == number)
        .order_by(rollouts.c.number)
    )
    rows = connection.execute(query).all()
    later = {} if superseded else later_fates(connection, run_key, rows)
    return [
        RolloutRecord(
            iteration=books.iteration,
            attempt=books.attempt,
            superseded=superseded,
            group_id=group.group_id,
            task=group.task,
            num_prompt_tokens=group.num_prompt_tokens,
            prompt=prompt,
            answer=answer,
            **{name: getattr(row, name) for name in HEAD_COLUMNS},
            **_later(later.get((row.iteration, row.rollout_id))),
            text=None if texts is None else texts[row.number],
            **_tokens(row),
        )
        for row in rows
    ]


def _later(fate: Any) -> dict[str, Any]:
    names = ("iteration", "fate", "reason", "step", "age")
    return {f"later_{name}": None if fate is None else getattr(fate, name) for name in names}


def _tokens(row: Any) -> dict[str, tuple[Any, ...]]:
    pieces = () if row.pieces is None else tuple(unpack_json(row.pieces))
    floats = {
        name: () if blob is None else unpack_floats(blob, len(pieces))
        for name, blob in (("log_probs", row.log_probs), ("trainer_log_probs", row.trainer_log_probs))
    }
    return {"pieces": pieces, **floats}
