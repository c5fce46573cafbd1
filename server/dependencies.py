"""How an endpoint gets the part of the server that it uses, and nothing more.

They are coroutines although they wait for nothing: the framework takes plain functions to a thread, and back.
"""

from __future__ import annotations

from typing import Annotated, cast

from fastapi import Depends, Request

from server.audit.log import AuditLog
from server.auth.access import Principal
from server.auth.tokens import TokenStore
from server.database.engine import Database
from server.external.service import ExternalRuns
from server.ingest.service import Ingest
from server.live.hub import LiveHub
from server.planning.service import Planner
from server.retention.keeper import RetentionKeeper
from server.runs.removal import RunRemover
from server.runs.service import RunStore
from server.runs.supervisor_port import RunSupervisor
from server.runs.wishes import RunWishes
from server.services import Services
from server.settings import Settings
from server.telemetry.figures import ServerFigures


def _services(request: Request) -> Services:
    return cast("Services", request.app.state.services)


async def _runs(request: Request) -> RunStore:
    return _services(request).runs


async def _wishes(request: Request) -> RunWishes:
    return _services(request).wishes


async def _external(request: Request) -> ExternalRuns:
    return _services(request).external


async def _retention(request: Request) -> RetentionKeeper:
    return _services(request).retention


async def _database(request: Request) -> Database:
    return _services(request).database


async def _ingest(request: Request) -> Ingest:
    return _services(request).ingest


async def _remover(request: Request) -> RunRemover:
    return _services(request).remover


async def _planner(request: Request) -> Planner:
    return _services(request).planner


async def _hub(request: Request) -> LiveHub:
    return _services(request).hub


async def _tokens(request: Request) -> TokenStore:
    return _services(request).tokens


async def _supervisor(request: Request) -> RunSupervisor:
    return _services(request).supervisor


async def _session_cookie(request: Request) -> str:
    return _services(request).session_cookie


async def _audit(request: Request) -> AuditLog:
    return _services(request).audit


async def _figures(request: Request) -> ServerFigures:
    return _services(request).figures


async def _settings(request: Request) -> Settings:
    return _services(request).settings


async def _principal(request: Request) -> Principal:
    return cast("Principal", request.state.principal)


Runs = Annotated[RunStore, Depends(_runs)]
Wishes = Annotated[RunWishes, Depends(_wishes)]
External = Annotated[ExternalRuns, Depends(_external)]
Retention = Annotated[RetentionKeeper, Depends(_retention)]
Reading = Annotated[Database, Depends(_database)]
Recording = Annotated[Ingest, Depends(_ingest)]
Remover = Annotated[RunRemover, Depends(_remover)]
Planning = Annotated[Planner, Depends(_planner)]
Live = Annotated[LiveHub, Depends(_hub)]
Tokens = Annotated[TokenStore, Depends(_tokens)]
Supervisor = Annotated[RunSupervisor, Depends(_supervisor)]
SessionCookie = Annotated[str, Depends(_session_cookie)]
Audit = Annotated[AuditLog, Depends(_audit)]
Figures = Annotated[ServerFigures, Depends(_figures)]
Configured = Annotated[Settings, Depends(_settings)]
Asking = Annotated[Principal, Depends(_principal)]
