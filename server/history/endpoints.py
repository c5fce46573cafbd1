"""Which metrics a run has, and their history."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from server.auth.access import Access, requires
from server.dependencies import Reading
from server.history.catalogue import catalogue
from server.history.schemas import (
    MAX_QUERY_NAMES,
    MAX_QUERY_POINTS,
    MAX_QUERY_RUNS,
    Aggregation,
    MetricCatalogue,
    MetricHistory,
    XAxis,
)
from server.history.service import HistoryQuery, TooManyPointsError, history
from server.http.guarded_route import GuardedRoute
from server.http.problems import FieldProblem, ProblemError
from server.http.whole_number import WholeNumber
from server.runs import queries as run_queries

router = APIRouter(prefix="/api/v1", tags=["metrics"], route_class=GuardedRoute)


@router.get("/runs/{run_id}/metrics", operation_id="listMetrics")
@requires(Access.READ)
def list_metrics(run_id: str, database: Reading) -> MetricCatalogue:
    """The metrics of a run, and the columns of its steps that can be drawn as metrics."""
    with database.read() as connection:
        return MetricCatalogue(items=tuple(catalogue(connection, run_queries.run_key(connection, run_id))))


@router.get("/metrics/query", operation_id="queryMetrics")
@requires(Access.READ)
def query_metrics(
    database: Reading,
    run: Annotated[list[str], Query(min_length=1, max_length=MAX_QUERY_RUNS, description="Runs, by id or name.")],
    name: Annotated[list[str], Query(min_length=1, max_length=MAX_QUERY_NAMES, description="Metrics, by name.")],
    x: XAxis = XAxis.STEP,
    first: Annotated[
        float | None, Query(alias="from", allow_inf_nan=False, description="Begin of the range on the x axis.")
    ] = None,
    end: Annotated[
        float | None, Query(alias="to", allow_inf_nan=False, description="End of the range, itself not included.")
    ] = None,
    max_points: Annotated[
        WholeNumber, Query(ge=1, le=MAX_QUERY_POINTS, description="With more points than this they come as buckets.")
    ] = 1000,
    agg: Aggregation = Aggregation.MINMAX,
    superseded: Annotated[bool, Query(description="Also steps that a later attempt trained again.")] = False,
) -> MetricHistory:
    """Metrics in columns. Exact where the range holds at most `max_points`; a series that is missing has an error."""
    query = HistoryQuery(x=x, first=first, end=end, max_points=max_points, agg=agg, superseded=superseded)
    with database.read() as connection:
        try:
            return history(connection, run, name, query)
        except TooManyPointsError as error:
            field = "agg" if agg is Aggregation.NONE else "max_points"
            problem = FieldProblem(parameter=field, detail=str(error))
            raise ProblemError(422, "invalid", f"{field}: {error}", errors=[problem]) from None
