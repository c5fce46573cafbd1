"""The steps of runs, as typed calls: what was trained, where it ran and when, and how it would have run otherwise.

attempt, in each of them: of this attempt; None: of the newest one that trained the step.
"""

from __future__ import annotations

from collections.abc import Iterator

from orchestrator.contracts.schedule_spec import Balance, Barrier, Packer
from orchestrator.contracts.what_if import WhatIf
from server.client.paging import all_items, given
from server.client.run_names import NamedRuns
from server.steps.schemas import StepPage, StepRow, StepScheduleOut
from server.timeline.schemas import StepTimeline, TimelinePart


class StepRecords(NamedRuns):
    """The steps of any run."""

    def steps(self, run: str, *, first: int = 0) -> Iterator[StepRow]:
        """All steps from `first` on, in ascending order, each from the newest attempt that trained it."""
        path = f"{self._path(run)}/steps"
        return all_items(self._connection, StepPage, path, [("limit", "1000")], at=("from", first), then="next_from")

    def step(self, run: str, step: int, *, attempt: int | None = None) -> StepRow:
        """One step with its counts and metrics."""
        return self._connection.ask(StepRow, "GET", self._step(run, step), params=given(attempt=attempt))

    def schedule(self, run: str, step: int, *, attempt: int | None = None) -> StepScheduleOut:
        """Which sample of a step ran on which rank in which micro-batch."""
        path = f"{self._step(run, step)}/schedule"
        return self._connection.ask(StepScheduleOut, "GET", path, params=given(attempt=attempt))

    def step_timeline(self, run: str, step: int, *, attempt: int | None = None) -> StepTimeline:
        """Who did what when within a step."""
        path = f"{self._step(run, step)}/timeline"
        return self._connection.ask(StepTimeline, "GET", path, params=given(attempt=attempt))

    def timeline(self, run: str, *, first: int = 0, end: int | None = None) -> Iterator[StepTimeline]:
        """Who did what when, step by step from `first` on, `end` itself not included."""
        path = f"{self._path(run)}/timeline"
        return all_items(self._connection, TimelinePart, path, given(to=end), at=("from", first), then="next_from")

    def what_if(
        self,
        run: str,
        step: int,
        *,
        dp: int | None = None,
        cp: int | None = None,
        pp: int | None = None,
        vpp: int | None = None,
        token_cap: int | None = None,
        micro_batch_size: int | None = None,
        packer: Packer | str | None = None,
        balance: Balance | str | None = None,
        barrier: Barrier | str | None = None,
        attempt: int | None = None,
    ) -> WhatIf:
        """A recorded step scheduled otherwise, beside what ran. What is not given stays as it ran.

        Raises:
            InvalidError: the settings do not fit together; its pointers name them.
        """
        asked = {
            "dp": dp,
            "cp": cp,
            "pp": pp,
            "vpp": vpp,
            "token_cap": token_cap,
            "micro_batch_size": micro_batch_size,
            "packer": packer,
            "balance": balance,
            "barrier": barrier,
        }
        body = {name: value for name, value in asked.items() if value is not None}
        path = f"{self._step(run, step)}/whatif"
        return self._connection.ask(WhatIf, "POST", path, params=given(attempt=attempt), json=body)

    def _step(self, run: str, step: int) -> str:
        return f"{self._path(run)}/steps/{step:d}"
