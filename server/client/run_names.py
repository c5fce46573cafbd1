"""Runs by id or by name, as a path of the API."""

from __future__ import annotations

import re

from server.client.connection import Connection
from server.client.problem import NotFoundError, local_problem
from server.runs.schemas import RunPage

_ID = re.compile(r"run_[0-9A-Z]{26}")


class NamedRuns:
    """Finds runs for those who ask about them."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def _path(self, run: str) -> str:
        return f"/runs/{self._id_of(run)}"

    def _id_of(self, run: str) -> str:
        # A name is anything, slashes included, so it cannot stand in a path.
        if _ID.fullmatch(run):
            return run
        params = [("name", run), ("limit", "1"), ("archived", "true")]
        found = self._connection.ask(RunPage, "GET", "/runs", params=params)
        if not found.items:
            raise NotFoundError(local_problem("not-found", "Not found", f"There is no run named {run!r}."))
        return found.items[0].id
