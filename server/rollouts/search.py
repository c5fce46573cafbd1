"""All SQL that finds groups by their rollouts, a bounded part of a run at a time.

    newest iteration ──► a window of at most so many rollouts ──► groups that match ──► their texts, where one asks for

What lies outside the window is left to the next page, so that no question costs more the longer a run is. Texts are
compressed: they are unpacked group by group, until a page is full or has unpacked as much as it may.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, exists, or_, select, tuple_

from orchestrator.contracts.rollout_messages import RolloutFate
from server.database.packing import unpack_json
from server.database.tables import iterations, rollout_fates, rollout_groups, rollouts
from server.rollouts.books import in_view
from server.steps.lineage import Segment, current_view, in_iteration_segments, iteration_segments

_WINDOW_ROLLOUTS = 50_000
"""Looked at for one page."""
_TEXT_WINDOW_ROLLOUTS = 5_000
_MAX_UNPACKED_CHARS = 20_000_000
"""Texts that one page searches."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutFilter:
    """Which rollouts a list shows. What is None does not matter."""

    iteration: int | None = None
    step: int | None = None
    """Trained by it, whichever iteration generated them."""
    task: str | None = None
    reward_min: float | None = None
    reward_max: float | None = None
    fate: RolloutFate | None = None
    """In their own iteration or in a later one."""
    reason: str | None = None
    truncated: bool | None = None
    q: str | None = None
    """Part of the prompt, the right answer or the response, whatever its case."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundGroup:
    """A group with rollouts that match."""

    attempt: int
    iteration: int
    number: int
    matching: tuple[int, ...]
    """Numbers of the rollouts that match."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a page has, and where the next one begins."""

    groups: tuple[FoundGroup, ...]
    next_place: tuple[int, int] | None
    """(iteration, group number) of the last group that was looked at."""
    searched_from: int | None


def search(
    connection: Connection, run_key: int, filter_: RolloutFilter, *, after: tuple[int, int] | None, limit: int
) -> Found:
    """Up to `limit` groups after a place, the newest iteration first."""
    segments = current_view(iteration_segments(connection, run_key))
    window, has_more = _window(connection, run_key, filter_, after)
    if not window:
        return Found(groups=(), next_place=None, searched_from=None)
    candidates = _candidates(connection, run_key, segments, filter_, window, after)
    taken: list[FoundGroup] = []
    for group in candidates if filter_.q is None else _with_text(connection, run_key, filter_.q, candidates):
        if isinstance(group, FoundGroup):
            taken.append(group)
        if len(taken) == limit or not isinstance(group, FoundGroup):
            place = (group.iteration, group.number) if isinstance(group, FoundGroup) else group
            return Found(groups=tuple(taken), next_place=place, searched_from=place[0])
    # Behind the last group of the window's last iteration
    place = (window[-1], 2**31 - 1)
    return Found(groups=tuple(taken), next_place=place if has_more else None, searched_from=window[-1])


def _window(
    connection: Connection, run_key: int, filter_: RolloutFilter, after: tuple[int, int] | None
) -> tuple[list[int], bool]:
    """The iterations that one page looks at, the newest first, and whether there are older ones."""
    query = select(iterations.c.iteration, iterations.c.num_recorded_rollouts).where(
        in_view(connection, run_key), iterations.c.num_recorded_rollouts > 0
    )
    if after is not None:
        query = query.where(iterations.c.iteration <= after[0])
    if filter_.iteration is not None:
        query = query.where(iterations.c.iteration == filter_.iteration)
    if filter_.step is not None:
        query = query.where(iterations.c.iteration.in_(_iterations_of_step(connection, run_key, filter_.step)))
    most = _WINDOW_ROLLOUTS if filter_.q is None else _TEXT_WINDOW_ROLLOUTS
    found: list[int] = []
    size = 0
    ordered = query.order_by(iterations.c.iteration.desc())
    with connection.execute(ordered, execution_options={"yield_per": 256}) as rows:
        for row in rows:
            if size >= most:
                return found, True
            found.append(row.iteration)
            size += row.num_recorded_rollouts
    return found, False


def _iterations_of_step(connection: Connection, run_key: int, step: int) -> list[int]:
    """Iterations with rollouts that the step trained: its own, and those that carried some on to it."""
    own = connection.execute(
        select(iterations.c.iteration)
        .where(in_view(connection, run_key), iterations.c.first_step <= step)
        .where(iterations.c.first_step + iterations.c.num_steps > step)
    ).scalars()
    numbers = list(own)
    waited = select(rollout_fates.c.rollout_id).where(
        rollout_fates.c.run_key == run_key, rollout_fates.c.iteration.in_(numbers), rollout_fates.c.step == step
    )
    query = select(rollouts.c.iteration).where(rollouts.c.run_key == run_key, rollouts.c.rollout_id.in_(waited))
    return numbers + list(connection.execute(query.distinct()).scalars())


def _candidates(
    connection: Connection,
    run_key: int,
    segments: Sequence[Segment],
    filter_: RolloutFilter,
    window: Sequence[int],
    after: tuple[int, int] | None,
) -> Iterator[FoundGroup]:
    """Groups of the window with rollouts that match, but for their texts; read as far as they are asked for."""
    query = select(rollouts.c.attempt, rollouts.c.iteration, rollouts.c.group_number, rollouts.c.number).where(
        in_iteration_segments(rollouts, run_key, segments),
        rollouts.c.iteration.between(window[-1], window[0]),
        *_conditions(run_key, segments, filter_),
    )
    if filter_.iteration is not None or filter_.step is not None:
        query = query.where(rollouts.c.iteration.in_(window))
    if after is not None:
        same = and_(rollouts.c.iteration == after[0], rollouts.c.group_number > after[1])
        query = query.where(or_(rollouts.c.iteration < after[0], same))
    query = query.order_by(rollouts.c.iteration.desc(), rollouts.c.group_number, rollouts.c.number)
    place: tuple[int, int, int] | None = None
    numbers: list[int] = []
    with connection.execute(query, execution_options={"yield_per": 1000}) as rows:
        for row in rows:
            if place is not None and place != tuple(row)[:3]:
                yield _found(place, numbers)
                numbers = []
            place = (row.attempt, row.iteration, row.group_number)
            numbers.append(row.number)
    if place is not None:
        yield _found(place, numbers)


def _found(place: tuple[int, int, int], numbers: Sequence[int]) -> FoundGroup:
    attempt, iteration, group_number = place
    return FoundGroup(attempt=attempt, iteration=iteration, number=group_number, matching=tuple(numbers))


def _conditions(run_key: int, segments: Sequence[Segment], filter_: RolloutFilter) -> Iterator[ColumnElement[bool]]:
    if filter_.reward_min is not None:
        yield rollouts.c.reward >= filter_.reward_min
    if filter_.reward_max is not None:
        yield rollouts.c.reward <= filter_.reward_max
    if filter_.truncated is not None:
        yield rollouts.c.truncated == filter_.truncated
    told = {"fate": filter_.fate, "reason": filter_.reason, "step": filter_.step}
    if any(value is not None for value in told.values()):
        own = [rollouts.c[name] == value for name, value in told.items() if value is not None]
        later = [rollout_fates.c[name] == value for name, value in told.items() if value is not None]
        yield or_(
            and_(*own),
            exists().where(
                in_iteration_segments(rollout_fates, run_key, segments),
                rollout_fates.c.rollout_id == rollouts.c.rollout_id,
                rollout_fates.c.iteration > rollouts.c.iteration,
                *later,
            ),
        )
    if filter_.task is not None:
        yield exists().where(*_same_group(), rollout_groups.c.task == filter_.task)


def _same_group() -> list[ColumnElement[bool]]:
    return [
        *(rollout_groups.c[name] == rollouts.c[name] for name in ("run_key", "attempt", "iteration")),
        rollout_groups.c.number == rollouts.c.group_number,
    ]


def _with_text(
    connection: Connection, run_key: int, q: str, candidates: Iterator[FoundGroup]
) -> Iterator[FoundGroup | tuple[int, int]]:
    """Those in whose texts `q` is; a place where the search stops because it has unpacked as much as it may."""
    wanted = q.casefold()
    num_chars = 0
    for group in candidates:
        texts = group_texts(connection, run_key, [group]).get((group.iteration, group.number))
        if texts is None:
            continue
        prompt, answer, responses = texts
        num_chars += len(prompt) + len(answer or "") + sum(map(len, responses))
        if wanted in prompt.casefold() or wanted in (answer or "").casefold():
            yield group
        elif matching := tuple(n for n in group.matching if wanted in responses[n].casefold()):
            yield FoundGroup(attempt=group.attempt, iteration=group.iteration, number=group.number, matching=matching)
        if num_chars > _MAX_UNPACKED_CHARS:
            yield group.iteration, group.number


Texts = tuple[str, str | None, list[str]]
"""Prompt, right answer, responses."""


def group_texts(connection: Connection, run_key: int, groups: Sequence[FoundGroup]) -> dict[tuple[int, int], Texts]:
    """The texts of these groups by (iteration, number), as far as they are kept."""
    places = [(group.attempt, group.iteration, group.number) for group in groups]
    key = tuple_(rollout_groups.c.attempt, rollout_groups.c.iteration, rollout_groups.c.number)
    query = select(rollout_groups.c.iteration, rollout_groups.c.number, rollout_groups.c.texts).where(
        rollout_groups.c.run_key == run_key, key.in_(places), rollout_groups.c.texts.is_not(None)
    )
    found: dict[tuple[int, int], Any] = {}
    for row in connection.execute(query):
        found[row.iteration, row.number] = tuple(unpack_json(row.texts))
    return found
