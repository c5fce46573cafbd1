from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import inspect, text

from server.database import migrate
from server.database.engine import Database
from server.database.tables import metadata

_INSERT_RUN = (
    "INSERT INTO runs (key, id, name, kind, state, spec, batch_policy, parallelism, attempt, version, created_at, "
    "state_changed_at, num_steps) VALUES (1, 'r', 'r', 'managed', 'running', '{}', 'all', 'dp 2', 1, 1, 0, 0, 1)"
)


@pytest.fixture
def empty_database(tmp_path: Path, database_url: str | None) -> Database:
    """A database without tables."""
    database = Database(database_url or f"sqlite:///{tmp_path / 'swell.db'}")
    if not database.is_sqlite:
        migrate.downgrade(database.write_engine, "base")
    return database


def differences(database: Database) -> list[object]:
    with database.write_engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        return list(compare_metadata(context, metadata))


def test_the_migrations_make_the_tables_that_the_code_knows(empty_database: Database) -> None:
    migrate.upgrade(empty_database.write_engine)
    assert differences(empty_database) == []
    migrate.downgrade(empty_database.write_engine, "base")
    assert set(inspect(empty_database.write_engine).get_table_names()) <= {"alembic_version"}
    migrate.upgrade(empty_database.write_engine)
    assert differences(empty_database) == []
    empty_database.close()


def test_steps_that_were_recorded_before_anything_was_carried_stay(empty_database: Database) -> None:
    engine = empty_database.write_engine
    migrate.upgrade(engine, "20261130_1")
    old = {
        column.name: 1
        for column in metadata.tables["steps"].columns
        if column.name not in ("num_carried_in", "num_carried_out", "batch_decision")
    } | {"content_hash": b"0" * 32, "phase": "rl", "status": "trained", "lr_unit": "samples"}
    with engine.begin() as connection:
        connection.execute(text(_INSERT_RUN))
        connection.execute(text("INSERT INTO attempts (run_key, number, token_hash, created_at) VALUES (1, 1, 'h', 0)"))
        names = ", ".join(old)
        connection.execute(text(f"INSERT INTO steps ({names}) VALUES ({', '.join(f':{n}' for n in old)})"), old)
    migrate.upgrade(engine)
    with engine.connect() as connection:
        found = connection.execute(text("SELECT num_carried_in, num_carried_out, batch_decision FROM steps")).all()
    assert found == [(0, 0, None)]
    migrate.downgrade(engine, "20261130_1")
    with engine.connect() as connection:
        assert connection.execute(text("SELECT global_batch_size FROM steps")).all() == [(1,)]
    empty_database.close()


def test_the_newest_tables_are_left_alone(empty_database: Database, tmp_path: Path) -> None:
    migrate.upgrade(empty_database.write_engine)
    migrate.prepare_database(empty_database)
    assert list(tmp_path.glob("*.bak")) == []
    empty_database.close()


def test_sqlite_is_copied_before_it_is_upgraded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    database = Database(f"sqlite:///{tmp_path / 'swell.db'}")
    migrate.prepare_database(database)
    assert list(tmp_path.glob("*.bak")) == []  # there was nothing to copy
    with database.write_engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = 'older'"))
        connection.execute(text("CREATE TABLE kept (value TEXT)"))
        connection.execute(text("INSERT INTO kept VALUES ('precious')"))
    upgraded: list[object] = []
    monkeypatch.setattr("server.database.migrate.upgrade", upgraded.append)
    migrate.prepare_database(database)
    assert upgraded == [database.write_engine]
    database.close()
    opened = sqlite3.connect(tmp_path / "swell.db.older.bak")
    assert opened.execute("SELECT value FROM kept").fetchone() == ("precious",)
    opened.close()


def test_an_old_postgresql_is_not_changed_unasked(postgres_url: str) -> None:
    database = Database(postgres_url)
    with database.write_engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = 'older'"))
    with pytest.raises(migrate.OutdatedDatabaseError, match="revision older"):
        migrate.prepare_database(database)
    database.close()


def test_an_empty_database_gets_its_tables_at_start(empty_database: Database) -> None:
    migrate.prepare_database(empty_database)
    assert differences(empty_database) == []
    empty_database.close()


def test_another_kind_of_database_is_refused() -> None:
    with pytest.raises(ValueError, match="mysql"):
        Database("mysql://localhost/swell")
