"""All SQL that stores iterations, their groups and rollouts, and what became of those that had waited."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import orjson
from sqlalchemy import Connection, insert, select

from server.database.engine import insert_raw
from server.database.tables import iterations, rollout_fates, rollout_groups, rollout_tokens, rollouts
from server.errors import ConflictError
from server.rollouts.prepared_iteration import PreparedIteration
from server.steps.lineage import note_first_iteration

_BOOK_COLUMNS = (
    *("iteration", "started_at", "ended_at", "first_step", "num_steps", "num_refills", "num_carried_in"),
    *("num_generated", "num_trained", "num_carried_out", "num_groups"),
)
_PLACE = ("run_key", "attempt", "iteration")
_GROUP_COLUMNS = (*_PLACE, "number", "group_id", "task", "num_prompt_tokens", "texts")
_ROLLOUT_PLACE = (*_PLACE, "group_number", "number")
_FATE_FIELDS = ("rollout_id", "fate", "reason", "step", "age")
_HEAD_FIELDS = (
    *_FATE_FIELDS,
    *("num_tokens", "truncated", "reward", "advantage", "first_policy_version", "last_policy_version"),
)
_TOKEN_COLUMNS = (*_ROLLOUT_PLACE, "pieces", "log_probs", "trainer_log_probs")


def insert_iterations(
    connection: Connection, run_key: int, attempt: int, prepared: Sequence[PreparedIteration]
) -> list[PreparedIteration]:
    """Store those that are new, and return them. Raises ConflictError for one that is stored with other content."""
    new = _new_iterations(connection, run_key, attempt, prepared)
    if not new:
        return []
    connection.execute(insert(iterations), [_book_row(run_key, attempt, one) for one in new])
    for table, columns, rows in (
        (rollout_groups, _GROUP_COLUMNS, _group_rows),
        (rollouts, (*_ROLLOUT_PLACE, *_HEAD_FIELDS), _rollout_rows),
        (rollout_tokens, _TOKEN_COLUMNS, _token_rows),
        (rollout_fates, (*_PLACE, *_FATE_FIELDS), _fate_rows),
    ):
        found = [(run_key, attempt, *row) for one in new for row in rows(one)]
        if found:
            insert_raw(connection, table, columns, found)
    note_first_iteration(connection, run_key, attempt, min(one.message.iteration for one in new))
    return new


def _new_iterations(
    connection: Connection, run_key: int, attempt: int, prepared: Sequence[PreparedIteration]
) -> list[PreparedIteration]:
    query = select(iterations.c.iteration, iterations.c.content_hash).where(
        iterations.c.run_key == run_key,
        iterations.c.attempt == attempt,
        iterations.c.iteration.in_({one.message.iteration for one in prepared}),
    )
    known = {row.iteration: row.content_hash for row in connection.execute(query)}
    new = []
    for i, one in enumerate(prepared):
        number = one.message.iteration
        if number not in known:
            known[number] = one.content_hash
            new.append(one)
        elif known[number] != one.content_hash:
            raise ConflictError(
                "conflicting-iteration",
                f"Iteration {number} of this attempt is recorded with other content, which is kept; "
                "nothing of this batch was stored.",
                pointer=f"/iterations/{i}",
            )
    return new


def _book_row(run_key: int, attempt: int, one: PreparedIteration) -> dict[str, Any]:
    message = one.message
    return {name: getattr(message, name) for name in _BOOK_COLUMNS} | {
        "run_key": run_key,
        "attempt": attempt,
        "content_hash": one.content_hash,
        "filtered": orjson.dumps(message.filtered).decode(),
        "dropped": orjson.dumps(message.dropped).decode(),
        "num_recorded_groups": len(message.groups),
        "num_recorded_rollouts": sum(len(group.rollouts) for group in message.groups),
    }


def _group_rows(one: PreparedIteration) -> Iterator[tuple[Any, ...]]:
    for i, (group, texts) in enumerate(zip(one.message.groups, one.texts, strict=True)):
        yield one.message.iteration, i, group.group_id, group.task, group.num_prompt_tokens, texts


def _rollout_rows(one: PreparedIteration) -> Iterator[tuple[Any, ...]]:
    for i, group in enumerate(one.message.groups):
        for k, rollout in enumerate(group.rollouts):
            yield one.message.iteration, i, k, *(getattr(rollout, name) for name in _HEAD_FIELDS)


def _token_rows(one: PreparedIteration) -> Iterator[tuple[Any, ...]]:
    for i, group in enumerate(one.tokens):
        for k, tokens in enumerate(group):
            if tokens is not None:
                yield one.message.iteration, i, k, tokens.pieces, tokens.log_probs, tokens.trainer_log_probs


def _fate_rows(one: PreparedIteration) -> Iterator[tuple[Any, ...]]:
    for fate in one.message.waited:
        yield one.message.iteration, *(getattr(fate, name) for name in _FATE_FIELDS)
