"""All SQL that reads one rollout with everything that is known of it."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Row, select

from orchestrator.contracts.messages import ScheduleMessage
from orchestrator.contracts.rollout_messages import RolloutFate
from server.database.packing import unpack_floats, unpack_json
from server.database.tables import iterations, rollout_groups, rollout_tokens, rollouts
from server.errors import NotFoundError
from server.rollouts.heads import head_fields, later_fates
from server.rollouts.schemas import RolloutDetail, RolloutPlace, SamplePlace
from server.runs.queries import run_record
from server.steps import queries as step_queries
from server.steps.lineage import Segment, iteration_segments


def rollout_detail(
    connection: Connection, *, run: str, run_key: int, rollout_id: str, attempt: int | None
) -> RolloutDetail:
    """One rollout, from the newest attempt that ran its iteration, or from the one that is given.

    Raises NotFoundError for one that was never recorded.
    """
    row, superseded = _found(connection, run_key, rollout_id, attempt)
    mine = (run_key, row.attempt, row.iteration, row.group_number)
    group = connection.execute(select(rollout_groups).where(*_is(rollout_groups, mine))).one()
    texts = None if group.texts is None else unpack_json(group.texts)
    siblings = select(rollouts.c.rollout_id).where(*_is(rollouts, mine)).order_by(rollouts.c.number)
    later = None if superseded else later_fates(connection, run_key, [row]).get((row.iteration, row.rollout_id))
    trained_by = row.step if later is None or later.fate is not RolloutFate.TRAINED else later.step
    text = None if texts is None else texts[2][row.number]
    return RolloutDetail(
        **head_fields(row, text, later),
        run_id=run_record(connection, run).id,
        attempt=row.attempt,
        superseded=superseded,
        iteration=row.iteration,
        group_id=group.group_id,
        task=group.task,
        num_prompt_tokens=group.num_prompt_tokens,
        sibling_ids=tuple(connection.execute(siblings).scalars()),
        kept=texts is not None,
        pruned_at=connection.scalar(select(iterations.c.pruned_at).where(*_is(iterations, mine[:3]))),
        prompt=None if texts is None else texts[0],
        answer=None if texts is None else texts[1],
        text=text,
        **_tokens(connection, row),
        place=_place(connection, run_key, row, trained_by, attempt=row.attempt if superseded else None),
    )


def _found(connection: Connection, run_key: int, rollout_id: str, attempt: int | None) -> tuple[Row[Any], bool]:
    """The row, and whether it is superseded: the newest among those of the current view, else of the others."""
    query = select(rollouts).where(rollouts.c.run_key == run_key, rollouts.c.rollout_id == rollout_id)
    if attempt is not None:
        query = query.where(rollouts.c.attempt == attempt)
    segments = iteration_segments(connection, run_key)
    rows = [(row, _is_superseded(segments, row)) for row in connection.execute(query)]
    if not rows:
        where = "" if attempt is None else f" in attempt {attempt}"
        raise NotFoundError(
            f"No rollout {rollout_id!r} is recorded{where}. A run records as many groups of each iteration as its "
            "recording.groups_per_iteration says."
        )
    return min(rows, key=lambda found: (found[1], -found[0].attempt, -found[0].iteration))


def _is_superseded(segments: list[Segment], row: Row[Any]) -> bool:
    return any(s.superseded and s.attempt == row.attempt and s.first <= row.iteration for s in segments)


def _is(table: Any, place: tuple[int, ...]) -> list[Any]:
    number = "number" if table is rollout_groups else "group_number"
    names = ("run_key", "attempt", "iteration", number)[: len(place)]
    return [table.c[name] == value for name, value in zip(names, place, strict=True)]


def _tokens(connection: Connection, row: Row[Any]) -> dict[str, tuple[Any, ...]]:
    place = (row.run_key, row.attempt, row.iteration, row.group_number)
    query = select(rollout_tokens).where(*_is(rollout_tokens, place), rollout_tokens.c.number == row.number)
    found = connection.execute(query).one_or_none()
    if found is None:
        return {"pieces": (), "log_probs": (), "trainer_log_probs": ()}
    pieces = tuple(unpack_json(found.pieces))
    columns = {name: getattr(found, name) for name in ("log_probs", "trainer_log_probs")}
    floats = {name: () if blob is None else unpack_floats(blob, len(pieces)) for name, blob in columns.items()}
    return {"pieces": pieces, **floats}


def _place(
    connection: Connection, run_key: int, row: Row[Any], step: int | None, *, attempt: int | None
) -> RolloutPlace | None:
    if step is None:
        return None
    try:
        found, _ = step_queries.step_place(connection, run_key, step, attempt)
    except NotFoundError:
        return None
    try:
        _, schedule = step_queries.schedule(connection, run_key, step, found.attempt)
    except NotFoundError:
        return RolloutPlace(step=step, attempt=found.attempt, samples=())
    return RolloutPlace(step=step, attempt=found.attempt, samples=_samples(schedule, row.rollout_id))


def _samples(schedule: ScheduleMessage, rollout_id: str) -> tuple[SamplePlace, ...]:
    told = schedule.samples
    return tuple(
        SamplePlace(
            sample_id=told.sample_id[i],
            index=i,
            dp_rank=dp_rank,
            micro_batch=micro_batch,
            num_tokens=told.num_tokens[i],
            num_loss_tokens=told.num_loss_tokens[i],
            weight=told.weight[i],
        )
        for dp_rank, rank in enumerate(schedule.micro_batches)
        for micro_batch, indices in enumerate(rank)
        for i in indices
        if told.rollout_id[i] == rollout_id
    )
