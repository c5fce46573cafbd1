"""What runs have recorded, as typed calls: the part of the client that only reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import BinaryIO, Literal, TypeAlias
from urllib.parse import quote

from orchestrator.contracts.log_messages import LogLevel
from orchestrator.contracts.rollout_messages import RolloutFate
from server.advisories.schemas import AdvisoryReport
from server.checkpoints.schemas import CheckpointOut, CheckpointPage
from server.client.log_reader import LogQuery, follow, newest_lines
from server.client.paging import all_items, given
from server.client.step_records import StepRecords
from server.events.schemas import RunEventOut, RunEventPage
from server.history.schemas import Aggregation, MetricCatalogue, MetricHistory, XAxis
from server.ledger.schemas import Ledger
from server.logs.schemas import LogLineOut, LogPage
from server.retention.schemas import RetentionInfo
from server.rollouts.schemas import IterationBooks, IterationPage, RolloutDetail, RolloutGroup, RolloutPage
from server.runs.schemas import Run
from server.system.schemas import SystemHistory

_PAGE = ("limit", "1000")

ExportedPart: TypeAlias = Literal["steps", "schedules", "iterations", "rollouts"]
"""What of a run is in an exported file."""


class RunRecords(StepRecords):
    """The records of any run."""

    def show(self, run: str) -> Run:
        """One run."""
        return self._connection.ask(Run, "GET", self._path(run))

    def metric_names(self, run: str) -> MetricCatalogue:
        """The metrics that a run has, with their last values."""
        return self._connection.ask(MetricCatalogue, "GET", f"{self._path(run)}/metrics")

    def metrics(
        self,
        runs: str | Sequence[str],
        *names: str,
        x: XAxis | str = XAxis.STEP,
        first: float | None = None,
        end: float | None = None,
        max_points: int = 1000,
        agg: Aggregation | str = Aggregation.MINMAX,
        superseded: bool = False,
    ) -> MetricHistory:
        """Metrics in columns: `.series[k].run`, `.x`, `.value`, `.weight`. What is missing is told in `.errors`.

        runs: one, or several. first, end: range on the x axis, the end not included. max_points: with more points they
        come as buckets; `agg="none"` gives every point, up to `limits().max_answer_points`. superseded: also steps that
        a later attempt trained again.
        """
        params = [
            *(("run", self._id_of(run)) for run in ([runs] if isinstance(runs, str) else runs)),
            *(("name", name) for name in names),
            *given(x=str(x), max_points=max_points, agg=str(agg), superseded=superseded, to=end),
            *([] if first is None else [("from", str(first))]),
        ]
        return self._connection.ask(MetricHistory, "GET", "/metrics/query", params=params)

    def events(self, run: str, *, after: int = 0) -> Iterator[RunEventOut]:
        """What happened to a run, oldest first. after: the id of the last event that is known."""
        return all_items(
            self._connection, RunEventPage, f"{self._path(run)}/events", [_PAGE], at=("after", after), then="next_after"
        )

    def iterations(self, run: str, *, first: int = 0) -> Iterator[IterationBooks]:
        """The books of all iterations from `first` on, in ascending order."""
        path = f"{self._path(run)}/iterations"
        return all_items(self._connection, IterationPage, path, [_PAGE], at=("from", first), then="next_from")

    def ledger(self, run: str, *, first: int | None = None, end: int | None = None) -> Ledger:
        """What became of the rollouts of the run, and whether the books balance.

        first, end: only of the iterations that trained these steps, the end not included.
        """
        params = [*given(to=end), *([] if first is None else [("from", str(first))])]
        return self._connection.ask(Ledger, "GET", f"{self._path(run)}/ledger", params=params)

    def advisories(self, run: str, *, steps: int | None = None) -> AdvisoryReport:
        """What is odd about a run, and what to do about it. steps: how many of the newest are looked at."""
        path = f"{self._path(run)}/advisories"
        return self._connection.ask(AdvisoryReport, "GET", path, params=given(steps=steps))

    def system(
        self, run: str, *, first: datetime | None = None, end: datetime | None = None, max_points: int = 300
    ) -> SystemHistory:
        """How busy the machine of a run was, in columns over time: CPU, memory, GPUs, generation.

        max_points: with more samples they come as buckets.
        """
        params = [
            *given(max_points=max_points, to=end and end.timestamp()),
            *([] if first is None else [("from", str(first.timestamp()))]),
        ]
        return self._connection.ask(SystemHistory, "GET", f"{self._path(run)}/system", params=params)

    def retention(self, run: str) -> RetentionInfo:
        """How much of a run's large records is kept, and what was taken away."""
        return self._connection.ask(RetentionInfo, "GET", f"{self._path(run)}/retention")

    def rollouts(
        self,
        run: str,
        *,
        iteration: int | None = None,
        step: int | None = None,
        task: str | None = None,
        reward_min: float | None = None,
        reward_max: float | None = None,
        fate: RolloutFate | str | None = None,
        reason: str | None = None,
        truncated: bool | None = None,
        text: str | None = None,
    ) -> Iterator[RolloutGroup]:
        """Groups with recorded rollouts that match, the newest iteration first. They are asked for page by page.

        step: trained by it. text: part of prompt, answer or response.
        """
        params = given(
            iteration=iteration,
            step=step,
            task=task,
            reward_min=reward_min,
            reward_max=reward_max,
            fate=fate,
            reason=reason,
            truncated=truncated,
            q=text,
        )
        path = f"{self._path(run)}/rollouts"
        return all_items(
            self._connection, RolloutPage, path, [*params, ("limit", "100")], at=("cursor", None), then="next_cursor"
        )

    def rollout(self, run: str, rollout_id: str) -> RolloutDetail:
        """One rollout with its tokens, their log-probs, and where it was trained."""
        return self._connection.ask(RolloutDetail, "GET", f"{self._path(run)}/rollouts/{quote(rollout_id, safe='')}")

    def checkpoints(self, run: str) -> Iterator[CheckpointOut]:
        """The checkpoints of all attempts, removed ones included, the highest step first."""
        path = f"{self._path(run)}/checkpoints"
        return all_items(
            self._connection, CheckpointPage, path, [("limit", "500")], at=("cursor", None), then="next_cursor"
        )

    def logs(
        self,
        run: str,
        *,
        source: str | None = None,
        level: LogLevel | str = LogLevel.DEBUG,
        text: str | None = None,
        attempt: int | None = None,
        tail: int = 200,
    ) -> list[LogLineOut]:
        """The newest lines of a run's processes, at most `tail`, oldest first. level: at least."""
        return newest_lines(self, LogQuery(run, source, LogLevel(level), text, attempt), tail=tail)

    def follow_logs(
        self,
        run: str,
        *,
        source: str | None = None,
        level: LogLevel | str = LogLevel.DEBUG,
        text: str | None = None,
        attempt: int | None = None,
        tail: int = 200,
    ) -> Iterator[LogLineOut]:
        """As `logs`, and then each new line as it comes, until the run has ended. A restarting server is waited for."""
        return follow(self, LogQuery(run, source, LogLevel(level), text, attempt), tail=tail)

    def log_page(
        self, query: LogQuery, *, before: int | None = None, after: int | None = None, limit: int = 200
    ) -> LogPage:
        """Lines with ids below `before`, or above `after`; else the newest."""
        params = given(
            source=query.source,
            level=query.level.value,
            q=query.text,
            attempt=query.attempt,
            before=before,
            after=after,
            limit=limit,
        )
        return self._connection.ask(LogPage, "GET", f"{self._path(query.run)}/logs", params=params)

    def export(
        self,
        run: str,
        target: Path | BinaryIO,
        *,
        what: ExportedPart = "steps",
        format: str | None = None,  # noqa: A002
        superseded: bool = True,
    ) -> int:
        """Write every step with its counts, metrics and weights to a file; returns its size in bytes.

        what: instead of the steps, where each sample ran, the books of the iterations, or the recorded rollouts.
        format: csv, jsonl or parquet; None: as the file's name ends. A file that cannot be finished is not left behind.
        """
        if isinstance(target, Path):
            partial = target.with_name(f"{target.name}.partial")
            try:
                with partial.open("wb") as file:
                    size = self.export(run, file, what=what, format=format or target.suffix[1:], superseded=superseded)
                partial.replace(target)
            finally:
                partial.unlink(missing_ok=True)
            return size
        params = given(what=what, format=format or "csv", superseded=superseded)
        with self._connection.stream(f"{self._path(run)}/export", params=params) as pieces:
            return sum(target.write(piece) for piece in pieces)
