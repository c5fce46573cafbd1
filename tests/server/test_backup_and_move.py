from __future__ import annotations

import sqlite3
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Boolean, Column, Double, Integer, LargeBinary, MetaData, Table, Text

from orchestrator.contracts.run_state import RunTrigger
from server.database.backup import BackupError, backup_sqlite
from server.database.engine import Database
from server.database.migrate import downgrade, upgrade
from server.database.move import MoveError, move
from server.database.table_hash import hash_rows
from server.database.tables import metadata
from tests.server.factories import metric, step_message
from tests.server.live_server import LiveServer, running_server
from tests.server.record_factories import checkpoint_message, iteration_message, log_line, post


def filled(server: LiveServer) -> str:
    """A run with something in most tables; returns its id."""
    run = server.launch(tags={"sprache": "löß"})
    odd = {"m/ü": metric("NaN"), "inf": metric("Infinity"), "none": metric(None), "train/loss": metric(1.0)}
    server.record(run, step_message(0, metrics=odd), step_message(1))
    post(server, run, "rollouts", iteration_message(0))
    post(server, run, "logs", log_line(0, "line ⅓"), log_line(1))
    post(server, run, "checkpoints", checkpoint_message(1))
    server.http.post("/api/v1/tokens", json={"name": "t", "access": "read"})
    server.services.runs.apply(run.id, RunTrigger.FAIL, reason="no wood")
    return run.id


@pytest.mark.stack
def test_everything_is_moved_exactly_and_the_server_goes_on_there(tmp_path: Path, postgres_url: str) -> None:
    home = tmp_path / "home"
    with running_server(home) as live:
        run_id = filled(live)
        before = [live.get(f"/runs/{run_id}{part}") for part in ("", "/steps", "/metrics", "/rollouts", "/events")]
        # A backup of a database that is in use.
        assert backup_sqlite(live.services.database, tmp_path / "copy.db") > 0
        with pytest.raises(BackupError, match="exists already"):
            backup_sqlite(live.services.database, tmp_path / "copy.db")
    assert (tmp_path / "copy.db").stat().st_mode & 0o777 == 0o600
    assert not list(tmp_path.glob("*.partial"))
    opened = sqlite3.connect(tmp_path / "copy.db")
    assert opened.execute("SELECT count(*) FROM steps").fetchone() == (2,)
    opened.close()

    source, target = Database(f"sqlite:///{home / 'swell.db'}"), Database(postgres_url)
    with pytest.raises(BackupError, match="pg_dump"):
        backup_sqlite(target, tmp_path / "other.db")
    with pytest.raises(MoveError, match="must be SQLite"):
        move(target, target)
    with pytest.raises(MoveError, match="must be PostgreSQL"):
        move(source, source)
    moved = {each.name: each.num_rows for each in move(source, target)}
    assert set(moved) == set(metadata.tables)
    assert (moved["steps"], moved["points"], moved["log_lines"], moved["checkpoints"]) == (2, 5, 2, 1)
    with pytest.raises(MoveError, match="not empty"):
        move(source, target)
    source.close()
    target.close()
    with running_server(home, database_url=postgres_url) as live:
        after = [live.get(f"/runs/{run_id}{part}") for part in ("", "/steps", "/metrics", "/rollouts", "/events")]
        assert after == before
        # Numbers go on after the highest that was moved.
        again = filled(live)
        assert {run["id"] for run in live.get("/runs")["items"]} == {run_id, again}


def test_an_old_or_a_foreign_database_is_not_moved(tmp_path: Path) -> None:
    source = Database(f"sqlite:///{tmp_path / 'swell.db'}")
    upgrade(source.write_engine)
    downgrade(source.write_engine, "20261130_7")
    with pytest.raises(MoveError, match="swell db upgrade"):
        move(source, source)
    source.close()


TABLE = Table(
    "t",
    MetaData(),
    Column("a", Integer),
    Column("b", Double),
    Column("c", Text),
    Column("d", LargeBinary),
    Column("e", Boolean),
)
rows = st.lists(
    st.tuples(
        st.integers() | st.none(),
        st.floats(allow_nan=False) | st.none(),
        st.text(max_size=8) | st.none(),
        st.binary(max_size=8) | st.none(),
        st.booleans() | st.none(),
    ),
    max_size=5,
)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # times say little on shared machines
@given(rows, st.randoms(use_true_random=False))
def test_the_hash_knows_rows_and_not_their_order(rows: list[tuple[object, ...]], random: Random) -> None:
    # SQLite keeps truth as 0 and 1.
    shuffled = [(*row[:4], None if row[4] is None else int(bool(row[4]))) for row in rows]
    random.shuffle(shuffled)
    assert hash_rows(TABLE, rows) == hash_rows(TABLE, shuffled)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # times say little on shared machines
@given(rows, rows)
def test_other_rows_have_another_hash(some: list[tuple[object, ...]], others: list[tuple[object, ...]]) -> None:
    same = sorted(map(repr, some)) == sorted(map(repr, others))
    assert (hash_rows(TABLE, some) == hash_rows(TABLE, others)) is same
