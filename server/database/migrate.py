"""Brings a database to the newest tables: SQLite at start, after a copy; PostgreSQL when an operator says so.

An empty database gets its tables at start, whatever its kind. `swell db upgrade` upgrades the one that
SWELL_DATABASE_URL names.
"""

from __future__ import annotations

import logging
import sqlite3
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine

from server.database.engine import Database

log = logging.getLogger(__name__)

_MIGRATIONS = Path(__file__).parent.parent.parent / "migrations"


class OutdatedDatabaseError(Exception):
    """The database has older tables than this server, and is not ours to change unasked."""


def prepare_database(database: Database) -> None:
    """Make sure at start that the tables are the newest. Raises OutdatedDatabaseError for old ones in PostgreSQL."""
    present, newest = current_revision(database.write_engine), newest_revision()
    if present == newest:
        return
    if present is not None:
        if not database.is_sqlite:
            raise OutdatedDatabaseError(
                f"The database is at revision {present}, this server needs {newest}. Make a backup, then run "
                "`swell db upgrade` with the same SWELL_DATABASE_URL."
            )
        copy_sqlite(Path(database.url.database or ""), suffix=present)
    upgrade(database.write_engine)


def current_revision(engine: Engine) -> str | None:
    """The revision that a database is at; None: it has no tables of ours."""
    with engine.connect() as connection:
        return MigrationContext.configure(connection).get_current_revision()


def newest_revision() -> str | None:
    return ScriptDirectory.from_config(_config(None)).get_current_head()


def upgrade(engine: Engine, revision: str = "head") -> None:
    """Apply migrations up to a revision, in one transaction."""
    with engine.begin() as connection:
        command.upgrade(_config(connection), revision)


def downgrade(engine: Engine, revision: str) -> None:
    """Undo migrations down to a revision; `base` undoes all."""
    with engine.begin() as connection:
        command.downgrade(_config(connection), revision)


def copy_sqlite(path: Path, *, suffix: str) -> Path:
    """Copy a database beside itself, consistently even while others write. Returns the copy's path."""
    copy = path.with_name(f"{path.name}.{suffix}.bak")
    source, target = sqlite3.connect(path), sqlite3.connect(copy)
    try:
        with target:
            source.backup(target)
    finally:
        source.close()
        target.close()
    log.info("copied %s to %s before its upgrade", path, copy)
    return copy


def _config(connection: Connection | None) -> Config:
    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config
