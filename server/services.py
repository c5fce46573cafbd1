"""The parts of one server, built once and handed to the app. Nothing here touches the disk before `start`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta

from server.audit.log import AuditLog
from server.audit.pending import with_note
from server.auth.tokens import TokenStore
from server.database.engine import Database
from server.database.migrate import prepare_database
from server.database.writer import Writer
from server.events.queries import newest_event_ids
from server.external.decisions import ExternalDeadlines
from server.external.service import ExternalRuns
from server.external.watch import ExternalWatch
from server.http.gate import Gate
from server.ingest.service import Ingest
from server.live.hub import LiveHub
from server.planning.service import Planner
from server.retention.keeper import RetentionKeeper
from server.runs import queries
from server.runs.queries import RunFilter
from server.runs.removal import RunRemover
from server.runs.schemas import RunSummary
from server.runs.service import RunStore
from server.runs.supervisor_port import NoSupervisor, RunSupervisor
from server.runs.wishes import RunWishes
from server.settings import Settings
from server.telemetry.figures import ServerFigures

MakeSupervisor = Callable[[RunStore], RunSupervisor]


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """Everything that endpoints use."""

    settings: Settings
    figures: ServerFigures
    database: Database
    writer: Writer
    hub: LiveHub
    runs: RunStore
    wishes: RunWishes
    external: ExternalRuns
    external_watch: ExternalWatch
    retention: RetentionKeeper
    remover: RunRemover
    ingest: Ingest
    planner: Planner
    tokens: TokenStore
    audit: AuditLog
    recording: Gate
    supervisor: RunSupervisor

    @property
    def session_cookie(self) -> str:
        # Cookies know no ports: two servers on one machine must not overwrite each other's.
        return f"swell_session_{self.settings.port}"

    def open(self) -> None:
        """Bring the database up to date and find or make the admin token. Takes as long as the database takes."""
        self.settings.home.mkdir(parents=True, exist_ok=True, mode=0o700)
        prepare_database(self.database)
        self.tokens.prepare()

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Let the threads work. Called on the event loop."""
        self.writer.start()
        self.hub.start(loop)
        self.supervisor.start()
        self.remover.start()
        self.external_watch.start()
        self.retention.start()

    def stop(self) -> None:
        """End the threads; what was queued for the database is still written."""
        self.supervisor.stop()
        self.remover.stop()
        self.external_watch.stop()
        self.retention.stop()
        self.hub.close()
        self.writer.stop()
        self.database.close()


def build_services(settings: Settings, make_supervisor: MakeSupervisor | None) -> Services:
    database = Database(settings.resolved_database_url)
    writer = Writer(database.write_engine, capacity=settings.max_queued_writes, beside=with_note)

    def summaries(run_ids: list[str]) -> list[RunSummary]:
        with database.read() as connection:
            return queries.summaries(connection, run_ids)

    def newest_events(run_ids: list[str]) -> dict[str, int]:
        with database.read() as connection:
            return newest_event_ids(connection, run_ids)

    hub = LiveHub(summaries, newest_events)

    def runs_by_state() -> Mapping[str, int]:
        with database.read() as connection:
            counts = queries.count_by_state(connection, RunFilter(archived=True))
        return {state.value: count for state, count in counts.items()}

    figures = ServerFigures()
    figures.watch(num_queued_writes=lambda: writer.num_queued, num_streams=lambda: hub.num_streams, runs=runs_by_state)
    delete_grace = timedelta(seconds=settings.delete_grace_s)
    runs = RunStore(database, writer, hub.run_changed)
    return Services(
        settings=settings,
        figures=figures,
        database=database,
        writer=writer,
        hub=hub,
        runs=runs,
        wishes=RunWishes(writer, hub.run_changed, delete_grace=delete_grace),
        external=ExternalRuns(writer, hub.run_changed),
        retention=RetentionKeeper(database, writer, settings.retention),
        external_watch=ExternalWatch(runs, _external_deadlines(settings)),
        remover=RunRemover(database, writer, settings.run_dir, grace=delete_grace),
        ingest=Ingest(writer, hub, figures),
        planner=Planner(database),
        audit=AuditLog(database),
        recording=Gate(settings.max_recording_batches),
        tokens=TokenStore(database, writer, settings.token_path),
        supervisor=make_supervisor(runs) if make_supervisor else NoSupervisor(),
    )


def _external_deadlines(settings: Settings) -> ExternalDeadlines:
    return ExternalDeadlines(
        silence_s=settings.external_silence_s,
        pause_s=settings.pause_deadline_s,
        stop_s=settings.external_stop_deadline_s,
    )
