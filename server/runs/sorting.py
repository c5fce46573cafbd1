"""How a list of runs is ordered, and the place in it where a page ends. What is not known comes last either way."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from sqlalchemy import BigInteger, ColumnElement, and_, case, func, or_, type_coerce

from orchestrator.contracts.run_state import RunState
from server.database.tables import runs


class SortKey(StrEnum):
    """What a list of runs is ordered by."""

    CREATED = "created"
    NAME = "name"
    """Whatever its case."""
    STATE = "state"
    """By its place in the life of a run: queued first, cancelled last."""
    STARTED = "started"
    STEPS = "steps"
    REWARD = "reward"
    """Of the newest step that has one."""
    LOSS = "loss"
    """Of the newest step."""
    BATCH_SIZE = "batch_size"
    """Of the newest step."""


class SortOrder(StrEnum):
    """Which end of it comes first."""

    ASCENDING = "asc"
    DESCENDING = "desc"


_LIFE = case({state.value: place for place, state in enumerate(RunState)}, value=runs.c.state)
_COLUMNS: dict[SortKey, ColumnElement[Any]] = {
    SortKey.CREATED: runs.c.key,
    SortKey.NAME: func.lower(runs.c.name),
    SortKey.STATE: _LIFE,
    SortKey.STARTED: runs.c.started_at,
    SortKey.STEPS: runs.c.num_steps,
    SortKey.REWARD: runs.c.last_reward,
    SortKey.LOSS: runs.c.last_loss,
    SortKey.BATCH_SIZE: runs.c.last_batch_size,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSort:
    """By one thing; equal runs by their creation."""

    key: SortKey = SortKey.CREATED
    order: SortOrder = SortOrder.DESCENDING

    @property
    def value(self) -> ColumnElement[Any]:
        """What is ordered by, as a column."""
        column = _COLUMNS[self.key]
        return column if self.key is not SortKey.STARTED else _as_number(column)

    @property
    def order_by(self) -> tuple[ColumnElement[Any], ...]:
        place = (self.value, runs.c.key)
        ordered = [each.desc() if self._is_descending else each.asc() for each in place]
        return (self.value.is_(None), *ordered) if self._may_be_unknown else tuple(ordered)

    def after(self, value: Any, key: int) -> ColumnElement[bool]:
        """A condition on `runs`: the run comes after one that has this value and key."""
        later_key = runs.c.key < key if self._is_descending else runs.c.key > key
        if value is None:
            return and_(self.value.is_(None), later_key)
        later = self.value < value if self._is_descending else self.value > value
        known = or_(later, and_(self.value == value, later_key))
        return or_(known, self.value.is_(None)) if self._may_be_unknown else known

    @property
    def _is_descending(self) -> bool:
        return self.order is SortOrder.DESCENDING

    @property
    def _may_be_unknown(self) -> bool:
        return self.key in (SortKey.STARTED, SortKey.REWARD, SortKey.LOSS, SortKey.BATCH_SIZE)


def _as_number(column: ColumnElement[Any]) -> ColumnElement[Any]:
    """Moments as the database keeps them, so that a cursor can hold one."""
    return type_coerce(column, BigInteger)
