"""The REST API as typed calls. Every failure is a CommandError with the server's own problem in it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import httpx
from pydantic import TypeAdapter, ValidationError

from orchestrator.contracts.plan import PlanRequest, RunPlan
from server.cli.home import unusable_home
from server.cli.problem import CommandError, ExitCode, Problem, command_error, exit_code_of
from server.history.schemas import Aggregation, MetricCatalogue, MetricHistory, XAxis
from server.runs.schemas import Run, RunPage

Answer = TypeVar("Answer")
_ID = re.compile(r"run_[0-9A-Z]{26}")


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryQuery:
    """Which points of which metrics."""

    names: Sequence[str]
    x: XAxis = XAxis.STEP
    max_points: int = 1000
    aggregation: Aggregation = Aggregation.MINMAX


class SwellClient:
    """One server, asked with one token."""

    def __init__(self, *, url: str, token: str, transport: httpx.BaseTransport | None = None) -> None:
        self.url = url.rstrip("/")
        self._http = httpx.Client(
            base_url=f"{self.url}/api/v1",
            headers={"Authorization": f"Bearer {token}"},
            timeout=httpx.Timeout(30.0, connect=5.0),
            # A proxy cannot reach a server on this machine's loopback.
            trust_env=not self.url.startswith(("http://127.", "http://localhost", "http://[::1]")),
            transport=transport,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._http.close()

    def submit(self, spec: Mapping[str, Any]) -> Run:
        """Queue a new run."""
        return self._ask(Run, "POST", "/runs", json=spec)

    def plan(self, request: PlanRequest) -> RunPlan:
        """What a run would be, with the lengths of an earlier one."""
        return self._ask(RunPlan, "POST", "/plan", json=request.model_dump(mode="json", exclude_unset=True))

    def runs(self, *, states: Iterable[str] = (), text: str | None = None, limit: int = 50) -> RunPage:
        """The newest runs."""
        params: list[tuple[str, str]] = [("limit", str(limit)), *(("state", state) for state in states)]
        return self._ask(RunPage, "GET", "/runs", params=[*params, *([("text", text)] if text else [])])

    def run(self, run: str) -> Run:
        """One run by id or name; of several with that name the newest."""
        return self._ask(Run, "GET", f"/runs/{self._id_of(run)}")

    def cancel(self, run: str, *, kill: bool) -> Run:
        """Ask a run to stop."""
        mode = "kill" if kill else "graceful"
        return self._ask(Run, "POST", f"/runs/{self._id_of(run)}/cancel", json={"mode": mode})

    def catalogue(self, run: str) -> MetricCatalogue:
        """The metrics that a run has."""
        return self._ask(MetricCatalogue, "GET", f"/runs/{self._id_of(run)}/metrics")

    def history(self, run: str, query: HistoryQuery) -> MetricHistory:
        """Metrics of one run in columns."""
        params = [
            ("run", run),
            *(("name", name) for name in query.names),
            ("x", query.x.value),
            ("max_points", str(query.max_points)),
            ("agg", query.aggregation.value),
        ]
        return self._ask(MetricHistory, "GET", "/metrics/query", params=params)

    def login_link(self) -> str:
        """A new link that logs one browser in."""
        return self.url + str(self._ask(dict[str, Any], "POST", "/login-links")["url"])

    def _id_of(self, run: str) -> str:
        # A name is anything, slashes included, so it cannot stand in a path.
        if _ID.fullmatch(run):
            return run
        found = self._ask(RunPage, "GET", "/runs", params=[("name", run), ("limit", "1")])
        if not found.items:
            raise command_error(ExitCode.NOT_FOUND, "not-found", "Not found", f"There is no run named {run!r}.")
        return found.items[0].id

    def _ask(
        self,
        answer: type[Answer],
        method: str,
        path: str,
        *,
        params: Sequence[tuple[str, str]] = (),
        json: Any = None,
    ) -> Answer:
        try:
            response = self._http.request(method, path, params=list(params), json=json)
        except httpx.HTTPError as error:
            raise command_error(
                ExitCode.NO_SERVER, "no-server", "No server", f"No Swell server answers at {self.url}: {error}"
            ) from error
        if response.is_error:
            raise CommandError(_problem(response), exit_code_of(response.status_code))
        return TypeAdapter(answer).validate_json(response.content)


def _problem(response: httpx.Response) -> Problem:
    try:
        return Problem.model_validate_json(response.content)
    except ValidationError:
        return Problem(
            type="about:blank",
            title=response.reason_phrase,
            status=response.status_code,
            detail=f"{response.url} answered {response.status_code}; is it a Swell server?",
        )


def read_token(home: Path) -> str:
    """The admin token of this home."""
    path = home / "token"
    try:
        return path.read_text().strip()
    except PermissionError as error:
        raise unusable_home(home, error) from error
    except (FileNotFoundError, NotADirectoryError):
        raise command_error(
            ExitCode.NO_SERVER,
            "no-server",
            "No server",
            f"There is no token at {path}: no server has been started here. Start one with `swell up`, "
            "or point SWELL_HOME at the directory of one.",
        ) from None
