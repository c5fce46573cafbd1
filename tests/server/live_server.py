"""A real server on a port of its own, in a thread of the test, and what tests ask of it."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from sqlalchemy import insert, select, update

from orchestrator.contracts.messages import StepMessage
from server.app import create_app
from server.auth.random_token import hash_token
from server.database.tables import attempts, runs
from server.database.writer import Transaction
from server.serve import build_server
from server.services import MakeSupervisor, Services
from server.settings import Settings
from tests.server.factories import START, batch_json, spec_json

READY_WITHIN_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchedRun:
    """A run whose newest attempt may be recorded."""

    id: str
    attempt: int
    token: str

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveServer:
    """A server that runs. `http` asks it with the admin token."""

    settings: Settings
    services: Services
    http: httpx.Client

    @property
    def url(self) -> str:
        return self.settings.url

    def submit(self, **changes: Any) -> str:
        """Submit a run over HTTP; returns its id."""
        answer = self.http.post("/api/v1/runs", json=spec_json(**changes))
        assert answer.status_code == 201, answer.text
        return str(answer.json()["id"])

    def launch(self, **changes: Any) -> LaunchedRun:
        """Submit a run and begin its first attempt, as the supervisor does."""
        run_id = self.submit(**changes)
        launched = self.services.runs.launch(run_id)
        assert launched is not None
        return LaunchedRun(id=run_id, attempt=launched.number, token=launched.ingest_token)

    def next_attempt(self, run: LaunchedRun) -> LaunchedRun:
        """Begin another attempt, as a retry does."""
        number, token = run.attempt + 1, f"token of attempt {run.attempt + 1} of {run.id}"

        def work(transaction: Transaction) -> None:
            key = transaction.connection.scalar(select(runs.c.key).where(runs.c.id == run.id))
            transaction.connection.execute(
                insert(attempts).values(run_key=key, number=number, token_hash=hash_token(token), created_at=START)
            )
            transaction.connection.execute(update(runs).where(runs.c.key == key).values(attempt=number))

        self.services.writer.run(work)
        return LaunchedRun(id=run.id, attempt=number, token=token)

    def record(self, run: LaunchedRun, *steps: StepMessage) -> httpx.Response:
        """Post steps with the attempt's own token."""
        return self.http.post(
            f"/api/v1/runs/{run.id}/steps:batch", json=batch_json(*steps, attempt=run.attempt), headers=run.headers
        )

    def get(self, path: str, **params: Any) -> Any:
        """The JSON of a GET that succeeds."""
        answer = self.http.get(f"/api/v1{path}", params=params)
        assert answer.status_code == 200, answer.text
        return answer.json()


@contextmanager
def running_server(
    home: Path,
    *,
    port: int = 0,
    database_url: str | None = None,
    make_supervisor: MakeSupervisor | None = None,
    **changes: Any,
) -> Iterator[LiveServer]:
    """Start a server and end it. port: 0: a free one."""
    listener = socket.create_server(("127.0.0.1", port))
    settings = Settings(home=home, port=listener.getsockname()[1], database_url=database_url, **changes)
    app = create_app(settings, make_supervisor)
    server = build_server(settings, app)
    thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
    thread.start()
    deadline = time.monotonic() + READY_WITHIN_S
    while not server.started and thread.is_alive() and time.monotonic() < deadline:
        time.sleep(0.005)
    assert server.started, "the server did not start; see the log"
    token = settings.token_path.read_text().strip()
    try:
        with httpx.Client(
            base_url=settings.url, headers={"Authorization": f"Bearer {token}"}, trust_env=False, timeout=30
        ) as http:
            yield LiveServer(settings=settings, services=app.state.services, http=http)
    finally:
        app.state.services.hub.close()
        server.should_exit = True
        thread.join()
