"""The server's figures for Prometheus."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from server.auth.access import Access, requires
from server.dependencies import Figures
from server.http.guarded_route import GuardedRoute
from server.telemetry.figures import CONTENT_TYPE

router = APIRouter(route_class=GuardedRoute, include_in_schema=False)


@router.get("/metrics")
@requires(Access.READ)
def prometheus_metrics(figures: Figures) -> Response:
    """Requests, runs by state, recorded steps and points, queues, open streams."""
    return Response(figures.text(), media_type=CONTENT_TYPE)
