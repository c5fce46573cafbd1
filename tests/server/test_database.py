from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from sqlalchemy import text

from server.database.engine import Database


def test_a_connection_that_is_in_use_when_the_database_closes_is_closed_when_it_comes_back(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'a.db'}")
    with database.read() as connection:
        late = connection.connection.dbapi_connection
        database.close()
        assert connection.execute(text("SELECT 1")).scalar() == 1
    assert isinstance(late, sqlite3.Connection)
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        late.execute("SELECT 1")
