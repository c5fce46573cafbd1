"""Sends thousands of odd requests made from the OpenAPI document: `python -m tests.drills.api_fuzz`.

Half come from schemathesis, half are good bodies with a place or two bent, to runs that exist, with and without tokens.
No answer may be a 5xx, and every answer is what the document says.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import httpx
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from schemathesis.core.failures import FailureGroup
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.drills.bent import bent
from tests.drills.good_bodies import good_bodies
from tests.drills.own_home import own_home
from tests.server.factories import step_message
from tests.server.live_server import LaunchedRun, LiveServer, running_server
from tests.server.record_factories import checkpoint_message, iteration_message, log_line, post, timeline_columns

_CHECKS = [
    schemathesis.checks.not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
_STREAMS = {"streamEvents"}
"""These do not end by themselves."""
_SLOW = {"createRun", "planRun", "planDraft", "recordSteps"}
"""To make a body of these from the document takes long; most of their requests are bent ones."""
_NUM_RUNS = 4
_NUM_STEPS = 3


@dataclass(slots=True, kw_only=True)
class Outcome:
    """What came back."""

    answers: Counter[tuple[str, int]] = field(default_factory=Counter)
    """By operation and status."""
    problems: dict[str, str] = field(default_factory=dict)
    """The first of each kind, with the request that made it."""

    @property
    def num_requests(self) -> int:
        return self.answers.total()

    def __str__(self) -> str:
        by_status = Counter[int]()
        for (_, status), count in self.answers.items():
            by_status[status] += count
        found = "\n".join(f"  {kind}\n    {text}" for kind, text in self.problems.items())
        told = ", ".join(f"{count} × {status}" for status, count in sorted(by_status.items()))
        operations = len({operation for operation, _ in self.answers})
        return (
            f"api_fuzz: {self.num_requests} requests to {operations} operations: {told}\n"
            f"{found or '  no 5xx, every answer as the document says'}"
        )


class Fuzzer:
    """Asks one server everything."""

    def __init__(self, live: LiveServer) -> None:
        self.outcome = Outcome()
        self._live = live
        self._document = live.http.get("/openapi.json").json()
        self._session = requests.Session()
        self._session.trust_env = False
        self._runs: list[LaunchedRun] = []
        self._rollout_id = ""
        self._tokens: dict[str, str] = {}

    def run(self, examples: int, *, only: str | None = None) -> None:
        """About so many requests to each operation."""
        good = good_bodies()
        for found in schemathesis.openapi.from_dict(self._document).get_all_operations():
            operation = found.ok()
            name = operation.definition.raw["operationId"]
            if name in _STREAMS or (only is not None and only != name):
                continue
            # The operation before may have given the admin another token.
            self._live.http.headers["Authorization"] = f"Bearer {self._admin_token()}"
            self._refresh_runs()
            self._tokens = self._make_tokens()
            generated = examples if name not in good else examples // (10 if name in _SLOW else 2)
            self._generated(name, operation, generated)
            if name in good:
                self._bent(name, operation, st.sampled_from(good[name]).flatmap(bent), examples - generated)

    def _generated(self, name: str, operation: Any, examples: int) -> None:
        modes = st.sampled_from(list(schemathesis.GenerationMode))
        cases = modes.flatmap(lambda mode: operation.as_strategy(generation_mode=mode))

        def ask(case: Any, who: str, run: int, step: int | None) -> None:
            self._place(case, run, step)
            headers = {"Authorization": f"Bearer {self._token(who, run)}"} if who != "nobody" else {}
            case.headers.pop("Authorization", None)
            try:
                answer = case.call(
                    base_url=self._live.url, session=self._session, headers=headers, timeout=60, allow_redirects=False
                )
            except (requests.exceptions.InvalidHeader, UnicodeError):
                return  # what no client can send
            self._judge(name, case, answer, answer.status_code)

        _play(ask, examples, case=cases, who=self._who, run=self._some_run, step=self._some_step)

    def _bent(self, name: str, operation: Any, bodies: st.SearchStrategy[Any], examples: int) -> None:
        def ask(body: Any, who: str, run: int, step: int | None) -> None:
            parameters = {"run_id": self._runs[run].id, "step": str(step or 0), "token_id": "1"}
            path = {key: value for key, value in parameters.items() if f"{{{key}}}" in operation.path}
            case = operation.Case(path_parameters=path, body=body, media_type="application/json")
            headers = {"Content-Type": "application/json"}
            if who != "nobody":
                headers["Authorization"] = f"Bearer {self._token(who, run)}"
            answer = httpx.request(
                operation.method,
                self._live.url + operation.path.format(**path),
                content=json.dumps(body),
                headers=headers,
                timeout=60,
                trust_env=False,
            )
            self._judge(name, case, answer, answer.status_code)

        _play(ask, examples, body=bodies, who=self._who, run=self._some_run, step=self._some_step)

    def _judge(self, name: str, case: Any, answer: Any, status: int) -> None:
        self.outcome.answers[name, status] += 1
        try:
            case.validate_response(answer, checks=_CHECKS)
        except FailureGroup as group:
            for failure in group.exceptions:
                kind = f"{name} {status}: {type(failure).__name__}"
                self.outcome.problems.setdefault(kind, f"{failure}"[:1500])

    _who = st.sampled_from(["admin", "admin", "admin", "ingest", "ingest", "write", "read", "nobody", "wrong"])
    _some_run = st.integers(0, _NUM_RUNS - 1)
    _some_step = st.none() | st.integers(0, _NUM_STEPS)

    def _place(self, case: Any, run: int, step: int | None) -> None:
        """Lead most generated requests to what exists."""
        if step is None:
            return
        if "run_id" in case.path_parameters:
            case.path_parameters["run_id"] = self._runs[run].id
        if "step" in case.path_parameters:
            case.path_parameters["step"] = str(step)
        if "rollout_id" in case.path_parameters:
            case.path_parameters["rollout_id"] = self._rollout_id
        if "timeout_s" in (case.query or {}):
            case.query["timeout_s"] = 0
        if "name" in (case.query or {}) and "run" in case.query:
            case.query["run"] = [self._runs[run].id, self._runs[0].id]
            case.query["name"] = ["train/loss", "global_batch_size"]

    def _token(self, who: str, run: int) -> str:
        if who == "admin":
            return self._admin_token()
        return self._runs[run].token if who == "ingest" else self._tokens[who]

    def _admin_token(self) -> str:
        return self._live.settings.token_path.read_text().strip()

    def _make_tokens(self) -> dict[str, str]:
        made = {
            access: self._live.http.post("/api/v1/tokens", json={"name": access, "access": access}).json()["token"]
            for access in ("read", "write")
        }
        return made | {"wrong": "swa_wrong"}

    def _refresh_runs(self) -> None:
        """Runs that are recorded, in place of those that were ended or deleted meanwhile."""
        http = self._live.http
        alive = [run for run in self._runs if http.get(f"/api/v1/runs/{run.id}").json().get("state") == "running"]
        while len(alive) < _NUM_RUNS:
            run = self._live.launch(name=f"odd {len(alive)}")
            self._record(run)
            alive.append(run)
        self._runs = alive

    def _record(self, run: LaunchedRun) -> None:
        """Some of everything, so that whoever asks finds something."""
        steps = [step_message(step, timeline=timeline_columns()) for step in range(_NUM_STEPS)]
        answers = [
            self._live.record(run, *steps),
            post(self._live, run, "rollouts", *(iteration_message(i) for i in range(_NUM_STEPS))),
            post(self._live, run, "logs", *(log_line(i) for i in range(20))),
            post(self._live, run, "checkpoints", checkpoint_message(1)),
        ]
        for answer in answers:
            answer.raise_for_status()
        groups = self._live.get(f"/runs/{run.id}/rollouts")["items"]
        self._rollout_id = groups[0]["rollouts"][0]["rollout_id"]


def _play(ask: Callable[..., None], examples: int, **strategies: st.SearchStrategy[Any]) -> None:
    """Call with so many drawn arguments, always the same ones."""
    if examples < 1:
        return
    bounded = settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    seed(0)(bounded(given(**strategies)(ask)))()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, default=170, help="requests for each operation")
    parser.add_argument("--only", help="an operationId")
    parser.add_argument("--database", choices=["sqlite", "postgresql"], default="sqlite")
    options = parser.parse_args()
    logging.basicConfig(level=logging.ERROR)
    with own_home(options.database) as (home, url), running_server(home, database_url=url) as live:
        fuzzer = Fuzzer(live)
        fuzzer.run(options.examples, only=options.only)
    sys.stdout.write(f"{fuzzer.outcome}\n")
    raise SystemExit(bool(fuzzer.outcome.problems))


if __name__ == "__main__":
    main()
