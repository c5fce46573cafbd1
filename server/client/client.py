"""The REST API as typed calls, with the verbs of the command line. Whatever fails is a SwellError.

A run is named by its id, or by its name: then the newest of that name is meant.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Literal, Self
from uuid import uuid4

import httpx

from orchestrator.contracts.plan import PlanRequest, RunPlan
from server.auth.schemas import LoginLink, NewToken, TokenList
from server.client import watch
from server.client.connection import Connection
from server.client.location import access_token, read_settings, server_url
from server.client.problem import NotFoundError, local_problem
from server.events.schemas import RunEventOut, RunEventPage
from server.history.schemas import Aggregation, MetricCatalogue, MetricHistory, XAxis
from server.runs.schemas import DeletedRun, Run, RunPage
from server.steps.schemas import StepPage, StepRow, StepScheduleOut

_ID = re.compile(r"run_[0-9A-Z]{26}")
_STEPS_PER_PAGE = 1000
_EVENTS_PER_PAGE = 1000


class SwellClient:
    """One server, asked with one token. Safe from any thread; not to be used after a fork."""

    def __init__(
        self,
        *,
        url: str | None = None,
        token: str | None = None,
        max_retries: int = 4,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        """Without an address and a token they are those of SWELL_URL and SWELL_TOKEN, or of SWELL_HOME.

        max_retries: how often a request is tried again that did not get through; the waits double from 0.1 s, and a
        Retry-After of the server is kept to. Nothing is tried again that might be done twice.

        Raises:
            NoServerError: there is no token to be found.
        """
        self._connection = Connection(
            url=url or server_url(read_settings()),
            token=token or access_token(read_settings()),
            max_retries=max_retries,
            transport=transport,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection. Recorders go on: they have connections of their own."""
        self._connection.close()

    @property
    def url(self) -> str:
        """Where the server is."""
        return self._connection.url

    # Runs

    def submit(self, spec: Mapping[str, Any], *, idempotency_key: str | None = None) -> Run:
        """Queue a new run. A connection that breaks makes no second run, nor does the same key within a day."""
        headers = {"Idempotency-Key": idempotency_key or uuid4().hex}
        return self._connection.ask(Run, "POST", "/runs", json=spec, headers=headers)

    def plan(self, request: PlanRequest) -> RunPlan:
        """What a run would be, e.g. with the lengths of an earlier one. Nothing is started."""
        body = request.model_dump(mode="json", exclude_unset=True)
        return self._connection.ask(RunPlan, "POST", "/plan", json=body)

    def runs(
        self,
        *,
        states: Iterable[str] = (),
        text: str | None = None,
        tags: Iterable[str] = (),
        archived: bool = False,
        cursor: str | None = None,
        limit: int = 50,
    ) -> RunPage:
        """Runs, newest first. tags: `tag=value`, or `tag`. cursor: the `next_cursor` of the page before."""
        optional = (("text", text), ("cursor", cursor))
        params = [
            ("limit", str(limit)),
            ("archived", str(archived).lower()),
            *(("state", state) for state in states),
            *(("tag", tag) for tag in tags),
            *((name, value) for name, value in optional if value),
        ]
        return self._connection.ask(RunPage, "GET", "/runs", params=params)

    def show(self, run: str) -> Run:
        """One run."""
        return self._connection.ask(Run, "GET", self._path(run))

    def watch(self, run: str) -> Iterator[Run]:
        """The run now and after each change, up to its end. A server that restarts is waited for."""
        return watch.changes(self, run)

    def cancel(self, run: str, *, kill: bool = False) -> Run:
        """Ask a run to stop: after its step, or at once."""
        return self._tell(run, "cancel", {"mode": "kill" if kill else "graceful"})

    def pause(self, run: str) -> Run:
        """Ask a run to wait after its step, with all its processes."""
        return self._tell(run, "pause")

    def resume(self, run: str) -> Run:
        """Let a paused run go on."""
        return self._tell(run, "resume")

    def retry(self, run: str, *, from_step: int | None = None) -> Run:
        """Let a run that failed or was cancelled go on, from its newest checkpoint or from the one before a step."""
        return self._tell(run, "retry", None if from_step is None else {"from_step": from_step})

    def clone(self, run: str, *, changes: Mapping[str, Any] | None = None) -> Run:
        """Submit the spec of a run again. changes: a JSON merge patch, `{"optimizer": {"lr": 1e-4}}`."""
        return self._tell(run, "clone", {"changes": dict(changes or {})})

    def change(
        self,
        run: str,
        *,
        name: str | None = None,
        tags: Mapping[str, str] | None = None,
        priority: int | None = None,
        archived: bool | None = None,
    ) -> Run:
        """Change what is given, and nothing else."""
        wanted = {"name": name, "tags": tags, "priority": priority, "archived": archived}
        body = {field: value for field, value in wanted.items() if value is not None}
        return self._connection.ask(Run, "PATCH", self._path(run), json=body)

    def delete(self, run: str) -> str:
        """Delete a run that has ended, with all its records; returns its id."""
        return self._connection.ask(DeletedRun, "DELETE", self._path(run)).id

    # What a run has recorded

    def metric_names(self, run: str) -> MetricCatalogue:
        """The metrics that a run has, with their last values."""
        return self._connection.ask(MetricCatalogue, "GET", f"{self._path(run)}/metrics")

    def metrics(
        self,
        run: str,
        *names: str,
        x: XAxis | str = XAxis.STEP,
        first: float | None = None,
        end: float | None = None,
        max_points: int = 1000,
        agg: Aggregation | str = Aggregation.MINMAX,
        superseded: bool = False,
    ) -> MetricHistory:
        """Metrics in columns: `.series[k].x`, `.value`, `.weight`. What is missing is told in `.errors`.

        first, end: range on the x axis, the end not included. max_points: with more points they come as buckets;
        `agg="none"` gives every point. superseded: also steps that a later attempt trained again.
        """
        optional = (("from", first), ("to", end))
        params = [
            ("run", self._id_of(run)),
            *(("name", name) for name in names),
            ("x", str(x)),
            ("max_points", str(max_points)),
            ("agg", str(agg)),
            ("superseded", str(superseded).lower()),
            *((name, repr(float(value))) for name, value in optional if value is not None),
        ]
        return self._connection.ask(MetricHistory, "GET", "/metrics/query", params=params)

    def steps(self, run: str, *, first: int = 0) -> Iterator[StepRow]:
        """All steps from `first` on, in ascending order, each from the newest attempt that trained it."""
        path, position = f"{self._path(run)}/steps", first
        while True:
            params = [("from", str(position)), ("limit", str(_STEPS_PER_PAGE))]
            page = self._connection.ask(StepPage, "GET", path, params=params)
            yield from page.items
            if page.next_from is None:
                return
            position = page.next_from

    def step(self, run: str, step: int) -> StepRow:
        """One step with its counts and metrics."""
        return self._connection.ask(StepRow, "GET", f"{self._path(run)}/steps/{step:d}")

    def schedule(self, run: str, step: int) -> StepScheduleOut:
        """Which sample of a step ran on which rank in which micro-batch."""
        return self._connection.ask(StepScheduleOut, "GET", f"{self._path(run)}/steps/{step:d}/schedule")

    def events(self, run: str, *, after: int = 0) -> Iterator[RunEventOut]:
        """What happened to a run, oldest first. after: the id of the last event that is known."""
        path, position = f"{self._path(run)}/events", after
        while True:
            params = [("after", str(position)), ("limit", str(_EVENTS_PER_PAGE))]
            page = self._connection.ask(RunEventPage, "GET", path, params=params)
            yield from page.items
            if page.next_after is None:
                return
            position = page.next_after

    def export(
        self,
        run: str,
        target: Path | BinaryIO,
        *,
        format: str | None = None,  # noqa: A002
        superseded: bool = True,
    ) -> int:
        """Write every step with its counts, metrics and weights to a file; returns its size in bytes.

        format: csv, jsonl or parquet; None: as the file's name ends. A file that cannot be finished is not left behind.
        """
        if isinstance(target, Path):
            partial = target.with_name(f"{target.name}.partial")
            try:
                with partial.open("wb") as file:
                    size = self.export(run, file, format=format or target.suffix[1:], superseded=superseded)
                partial.replace(target)
            finally:
                partial.unlink(missing_ok=True)
            return size
        params = [("format", format or "csv"), ("superseded", str(superseded).lower())]
        with self._connection.stream(f"{self._path(run)}/export", params=params) as pieces:
            return sum(target.write(piece) for piece in pieces)

    # Access

    def login_link(self) -> str:
        """A new link that logs one browser in."""
        return self.url + self._connection.ask(LoginLink, "POST", "/login-links").url

    def tokens(self) -> TokenList:
        """Tokens of programs and browsers, without their secrets."""
        return self._connection.ask(TokenList, "GET", "/tokens")

    def create_token(self, name: str, *, access: Literal["read", "write", "admin"]) -> NewToken:
        """Make a token for a program. Its secret is told here and never again."""
        return self._connection.ask(NewToken, "POST", "/tokens", json={"name": name, "access": access})

    def revoke_token(self, token_id: int) -> None:
        """End a token at once."""
        self._connection.send("DELETE", f"/tokens/{token_id:d}")

    def _tell(self, run: str, what: str, body: Mapping[str, Any] | None = None) -> Run:
        return self._connection.ask(Run, "POST", f"{self._path(run)}/{what}", json=body)

    def _path(self, run: str) -> str:
        return f"/runs/{self._id_of(run)}"

    def _id_of(self, run: str) -> str:
        # A name is anything, slashes included, so it cannot stand in a path.
        if _ID.fullmatch(run):
            return run
        params = [("name", run), ("limit", "1"), ("archived", "true")]
        found = self._connection.ask(RunPage, "GET", "/runs", params=params)
        if not found.items:
            raise NotFoundError(local_problem("not-found", "Not found", f"There is no run named {run!r}."))
        return found.items[0].id
