"""Whether the server lives, and whether it is ready to serve."""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter
from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError

from server.auth.access import Access, requires
from server.dependencies import Reading, Supervisor
from server.http.guarded_route import GuardedRoute
from server.http.problems import ProblemError
from server.runs.supervisor_port import RayState
from trainer.contracts.text_model import TextModel

router = APIRouter(tags=["health"], route_class=GuardedRoute)


class Health(TextModel):
    """The server answers."""

    status: Literal["ok"] = "ok"


class Readiness(TextModel):
    """The server takes requests."""

    database: Literal["answers"] = "answers"
    ray: RayState


@router.get("/healthz", operation_id="getHealth")
@requires(Access.PUBLIC)
async def get_health() -> Health:
    """The process lives."""
    return Health()


@router.get("/readyz", operation_id="getReadiness")
@requires(Access.PUBLIC)
def get_readiness(database: Reading, supervisor: Supervisor) -> Readiness:
    """The database answers. Ray is told beside it: it is started when a run needs it."""
    try:
        with database.read() as connection:
            connection.execute(text("SELECT 1"))
    except SQLAlchemyError:
        raise ProblemError(503, "database-unavailable", "The database does not answer.") from None
    return Readiness(ray=supervisor.ray_state())
