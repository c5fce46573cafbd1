"""The wiring of the server: parts, routes, what stands before them, and what starts and ends with the process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI
from starlette.middleware.gzip import GZipMiddleware

from server import documents, health
from server.advisories import endpoints as advisories
from server.audit import endpoints as audit
from server.auth import endpoints as auth
from server.checkpoints import endpoints as checkpoints
from server.events import endpoints as events
from server.exports import endpoints as exports
from server.external import endpoints as external
from server.history import endpoints as history
from server.http import problems
from server.http.dashboard import Dashboard
from server.http.hosts import HostGuard
from server.http.openapi_document import describe
from server.http.security_headers import SecurityHeaders
from server.ingest import endpoints as ingest
from server.ledger import endpoints as ledger
from server.limits import endpoints as limits
from server.live import endpoints as live
from server.logs import endpoints as logs
from server.planning import endpoints as planning
from server.retention import endpoints as retention
from server.rollouts import endpoints as rollouts
from server.runs import endpoints as runs
from server.runs import wish_endpoints as wishes
from server.services import MakeSupervisor, build_services
from server.settings import Settings
from server.steps import endpoints as steps
from server.system import endpoints as system
from server.telemetry import endpoints as telemetry
from server.telemetry.middleware import Telemetry
from server.timeline import endpoints as timeline

_GZIP_FROM_BYTES = 2048
_GZIP_LEVEL = 4
"""Columns of numbers shrink to a third; higher levels take longer and gain little."""


def create_app(settings: Settings, make_supervisor: MakeSupervisor | None = None) -> FastAPI:
    """The app of one server. Nothing is opened before its lifespan begins.

    make_supervisor: given the RunStore, makes what starts and ends jobs; None: runs are recorded and none is started.
    """
    services = build_services(settings, make_supervisor)

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        await asyncio.to_thread(services.open)
        services.start(asyncio.get_running_loop())
        try:
            yield
        finally:
            services.hub.close()
            await services.hub.wait_closed()
            await asyncio.to_thread(services.stop)

    # The framework's own pages load scripts from elsewhere and know no rules; server/documents.py has ours.
    app = FastAPI(
        title="Swell",
        version="1",
        lifespan=lifespan,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.services = services
    # Routes are tried in turn: ingest first, which is asked at every step.
    for module in (ingest, runs, wishes, external, retention, planning, steps, history, events, exports, live):
        app.include_router(module.router)
    for module in (rollouts, ledger, logs, checkpoints, timeline, system, advisories):
        app.include_router(module.router)
    for module in (auth, audit, health, limits, telemetry, documents):
        app.include_router(module.router)
    app.router.default = Dashboard(settings.web_dist)
    problems.install(app)
    app.add_middleware(HostGuard, settings=settings)
    app.add_middleware(SecurityHeaders)
    # Streams of events are left as they are.
    app.add_middleware(GZipMiddleware, minimum_size=_GZIP_FROM_BYTES, compresslevel=_GZIP_LEVEL)
    app.add_middleware(Telemetry, figures=services.figures)
    describe(app)
    return app
