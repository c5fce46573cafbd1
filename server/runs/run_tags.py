"""The tags of a run, as rows."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import Connection, delete, insert

from server.database.tables import run_tags


def set_tags(connection: Connection, run_key: int, tags: Mapping[str, str]) -> None:
    """Let the run have these tags and no others."""
    connection.execute(delete(run_tags).where(run_tags.c.run_key == run_key))
    if tags:
        rows = [{"run_key": run_key, "tag": tag, "value": value} for tag, value in tags.items()]
        connection.execute(insert(run_tags), rows)
