"""The REST API as typed calls, with the verbs of the command line. Whatever fails is a SwellError.

A run is named by its id, or by its name: then the newest of that name is meant.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self
from urllib.parse import quote
from uuid import uuid4

import httpx

from orchestrator.contracts.plan import Lengths, RunPlan
from orchestrator.contracts.run_spec import RunSpec
from server.client import watch
from server.client.access import ServerAccess
from server.client.connection import Connection, Params
from server.client.location import access_token, read_settings, server_url
from server.client.paging import given
from server.client.patience import Patience
from server.client.recording.external import RecorderOptions, create_attempt, make_recorder, next_attempt
from server.client.recording.recorder import MAX_QUEUED_STEPS, Recorder
from server.client.run_records import RunRecords
from server.limits.schemas import ServerLimits
from server.live.schemas import LiveEvent, LivePage
from server.runs.schemas import DeletedRun, Run, RunPage
from trainer.contracts.text_model import TextModel

_POLL_S = 20
"""How long the server lets a question for news wait: less than a request may take."""


class SwellClient(RunRecords, ServerAccess):
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
        super().__init__(
            Connection(
                url=url or server_url(read_settings()),
                token=token or access_token(read_settings()),
                max_retries=max_retries,
                transport=transport,
            )
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

    def limits(self) -> ServerLimits:
        """How much the server takes: of a request, of a batch, at a time."""
        return self._connection.ask(ServerLimits, "GET", "/limits")

    # Runs

    def submit(self, spec: Mapping[str, Any], *, idempotency_key: str | None = None) -> Run:
        """Queue a new run. A connection that breaks makes no second run, nor does the same key within a day."""
        headers = {"Idempotency-Key": idempotency_key or uuid4().hex}
        return self._connection.ask(Run, "POST", "/runs", json=spec, headers=headers)

    def plan(
        self,
        spec: Mapping[str, Any] | RunSpec,
        *,
        lengths: Lengths | Sequence[int] | None = None,
        kept_frac: float = 1.0,
        max_scheduled_steps: int = 64,
    ) -> RunPlan:
        """What a run would be: sizes, learning rate, micro-batches, idle time. Nothing is started.

        lengths: tokens of samples, or where they come from, e.g. `RunLengths(type="run", run="earlier")`; None: assumed
        from the spec. kept_frac: share of the rollouts that the filter will leave. max_scheduled_steps: so many, spread
        over the run, are cut into micro-batches.

        Raises:
            InvalidError: it cannot work. Its pointers begin with `/spec` or `/lengths`.
        """
        body = {
            "spec": spec.model_dump(mode="json", exclude_unset=True) if isinstance(spec, RunSpec) else spec,
            "lengths": _lengths(lengths),
            "kept_frac": kept_frac,
            "max_scheduled_steps": max_scheduled_steps,
        }
        return self._connection.ask(RunPlan, "POST", "/plan", json=body)

    def runs(
        self,
        *,
        states: Iterable[str] = (),
        text: str | None = None,
        tags: Iterable[str] = (),
        archived: bool = False,
        sort: str | None = None,
        order: Literal["asc", "desc"] | None = None,
        cursor: str | None = None,
        limit: int = 50,
    ) -> RunPage:
        """Runs, newest first unless `sort` says otherwise: `name`, `state`, `started`, `reward` and more.

        It is one page, with `total` and `next_cursor`; a loop over it goes over its runs. tags: `tag=value`, or `tag`.
        cursor: the `next_cursor` of the page before.
        """
        params = [
            *given(limit=limit, archived=archived, text=text or None, sort=sort, order=order, cursor=cursor),
            *(("state", state) for state in states),
            *(("tag", tag) for tag in tags),
        ]
        return self._connection.ask(RunPage, "GET", "/runs", params=params)

    def watch(self, run: str) -> Iterator[Run]:
        """The run now and after each change, up to its end. A server that restarts is waited for."""
        return watch.changes(self, run)

    def live(self, *runs: str) -> Iterator[LiveEvent]:
        """What happens from now on, as it happens, to these runs or to all: states, steps, news of logs and rollouts.

        It does not end by itself, and waits for a server that restarts. `resync` says that something was missed and has
        to be asked for.
        """
        only = [("run", self._id_of(run)) for run in runs]
        # The first question is where now is, and waits for nothing.
        page = self._poll([*only, *given(timeout_s=0)])
        patience = Patience()
        while True:
            page = patience.ask(partial(self._poll, [*only, *given(cursor=page.cursor, timeout_s=_POLL_S)]))
            yield from page.events

    def _poll(self, params: Params) -> LivePage:
        return self._connection.ask(LivePage, "GET", "/events/poll", params=params)

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
        """Submit the spec of a run again, as `demo-2` unless the changes name it.

        changes: a JSON merge patch, `{"optimizer": {"lr": 1e-4}}`.
        """
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

    def delete(self, run: str) -> DeletedRun:
        """Delete a run that has ended, with all its records. For a short time, which is told, it can be restored."""
        return self._connection.ask(DeletedRun, "DELETE", self._path(run))

    def restore(self, run_id: str) -> Run:
        """Take a deletion back. A deleted run has no name any more: it is found by its id alone."""
        return self._connection.ask(Run, "POST", f"/runs/{quote(run_id, safe='')}/restore")

    # Runs of other training loops

    def start_external(
        self,
        *,
        name: str,
        config: Mapping[str, Any] | None = None,
        tags: Mapping[str, str] | None = None,
        total_steps: int | None = None,
        journal: Path | None = None,
        max_queued_steps: int = MAX_QUEUED_STEPS,
    ) -> Recorder:
        """Begin to record a training loop that Swell does not run. See `Recorder`.

        config: shown beside the run; what JSON has no word for becomes text. total_steps: None: not known. journal: a
        directory of this run's own, where records wait for the server even when the process is gone: within two
        seconds they are on disk, and `deliver_journal` sends them later. Without it they wait in memory.
        max_queued_steps: more steps than that do not wait in memory; they are dropped and counted.

        Raises:
            SwellError: the run could not be made. From then on nothing is raised any more.
        """
        options = RecorderOptions(journal=journal, total_steps=total_steps, max_queued_steps=max_queued_steps)
        attempt = create_attempt(self._connection, name=name, config=config or {}, tags=tags or {})
        return make_recorder(attempt, options)

    def resume_external(
        self,
        run: str,
        *,
        total_steps: int | None = None,
        journal: Path | None = None,
        max_queued_steps: int = MAX_QUEUED_STEPS,
    ) -> Recorder:
        """Go on with an external run after its process died, as its next attempt.

        Steps that are logged again replace those of before, which stay as superseded. The rest is as in
        `start_external`.
        """
        options = RecorderOptions(journal=journal, total_steps=total_steps, max_queued_steps=max_queued_steps)
        return make_recorder(next_attempt(self._connection, self._id_of(run)), options)

    def _tell(self, run: str, what: str, body: Mapping[str, Any] | None = None) -> Run:
        return self._connection.ask(Run, "POST", f"{self._path(run)}/{what}", json=body)


def _lengths(lengths: Lengths | Sequence[int] | None) -> Any:
    if lengths is None:
        return None
    if isinstance(lengths, TextModel):
        return lengths.model_dump(mode="json")
    return {"type": "list", "num_tokens": list(lengths)}
