"""Answers plans and what-ifs, a few at a time: they compute, and the server has other things to do."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import anyio
import anyio.to_thread

from orchestrator.contracts.plan import PlanRequest, RunLengths, RunPlan
from orchestrator.contracts.what_if import WhatIf, WhatIfRequest
from server.database.engine import Database
from server.errors import BusyError, InvalidError, NotFoundError
from server.http.pointers import pointer
from server.planning.stored_lengths import stored_lengths
from server.runs import queries as run_queries
from server.runs.machine_check import check_for_a_plan
from server.steps import queries as step_queries
from trainer.contracts.text_model import FieldError

T = TypeVar("T")

_MAX_AT_ONCE = 2
_MAX_WAITING = 20


class Planner:
    """What the planning endpoints call. Starts nothing and changes nothing."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._limiter = anyio.CapacityLimiter(_MAX_AT_ONCE)

    async def plan(self, request: PlanRequest) -> RunPlan:
        """Foresee a run. Raises InvalidError where it cannot work, BusyError when too many wait."""
        return await self._compute(lambda: self._plan(request))

    async def what_if(self, run: str, step: int, attempt: int | None, request: WhatIfRequest) -> WhatIf:
        """Schedule a stored step otherwise. Raises NotFoundError, InvalidError or BusyError."""
        return await self._compute(lambda: self._what_if(run, step, attempt, request))

    async def _compute(self, work: Callable[[], T]) -> T:
        if self._limiter.statistics().tasks_waiting >= _MAX_WAITING:
            raise BusyError(f"{_MAX_WAITING} plans are waiting")
        return await anyio.to_thread.run_sync(work, limiter=self._limiter)

    def _plan(self, request: PlanRequest) -> RunPlan:
        # NumPy and the scheduler are not needed to start a server.
        from orchestrator.planning.plan import plan_run
        from orchestrator.preflight import warn_of_this_machine

        check_for_a_plan(request.spec, within=("spec",))
        lengths = self._lengths_of(request.lengths.run) if isinstance(request.lengths, RunLengths) else None
        try:
            plan = plan_run(request, run_lengths=lengths)
        except FieldError as error:
            raise _invalid(error) from None
        return warn_of_this_machine(plan, request.spec)

    def _what_if(self, run: str, step: int, attempt: int | None, request: WhatIfRequest) -> WhatIf:
        from orchestrator.planning.what_if import what_if

        with self._database.read() as connection:
            _, schedule = step_queries.schedule(connection, run_queries.run_key(connection, run), step, attempt)
        try:
            return what_if(schedule, request)
        except FieldError as error:
            raise _invalid(error) from None

    def _lengths_of(self, run: str) -> list[int]:
        with self._database.read() as connection:
            try:
                key = run_queries.run_key(connection, run)
            except NotFoundError as error:
                raise InvalidError([("/lengths/run", str(error))]) from None
            return stored_lengths(connection, key)


def _invalid(error: FieldError) -> InvalidError:
    return InvalidError([(pointer(field.split(".")), str(error)) for field in error.fields])
