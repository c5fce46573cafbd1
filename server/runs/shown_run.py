"""A run as the endpoints answer with it."""

from __future__ import annotations

from fastapi import Response

from server.database.engine import Database
from server.runs import queries
from server.runs.schemas import Run
from server.runs.version_header import etag


def shown_run(database: Database, run_id: str, response: Response) -> Run:
    """The run as it is now, with its version in the answer's ETag."""
    with database.read() as connection:
        run = queries.run_detail(connection, run_id)
    response.headers["ETag"] = etag(run.version)
    return run
