"""A copy of an SQLite database in one consistent state, while a server writes. Called by `swell db backup`."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

from server.database.engine import Database


class BackupError(Exception):
    """The copy could not be made; nothing was left behind."""


def backup_sqlite(database: Database, target: Path) -> int:
    """Write the whole database to a new file, readable by its owner only. Returns its size in bytes.

    Raises BackupError for PostgreSQL, for a file that is there already, and for a copy that is not whole.
    """
    if not database.is_sqlite:
        raise BackupError("The database is PostgreSQL; make its backup with `pg_dump --format=custom`.")
    source_path = Path(database.url.database or "")
    if not source_path.is_file():
        raise BackupError(f"There is no database at {source_path}; start a server once.")
    if target.exists():
        raise BackupError(f"{target} exists already; name a new file.")
    partial = target.with_name(target.name + ".partial")
    partial.unlink(missing_ok=True)
    partial.touch(mode=0o600)
    try:
        _copy(source_path, partial)
        # A hard link, unlike a rename, takes the place of no file that came meanwhile.
        os.link(partial, target)
    except FileExistsError:
        raise BackupError(f"{target} exists already; name a new file.") from None
    finally:
        partial.unlink(missing_ok=True)
    return target.stat().st_size


def _copy(source_path: Path, partial: Path) -> None:
    source = sqlite3.connect(source_path)
    copy = sqlite3.connect(partial)
    try:
        # In one step: writers need not wait for it, and a copy in several begins again whenever somebody writes.
        source.backup(copy)
        copy.execute("PRAGMA journal_mode = DELETE")
        found = copy.execute("PRAGMA integrity_check").fetchone()[0]
        if found != "ok":
            raise BackupError(f"The copy of {source_path} is not whole: {found}")
    finally:
        source.close()
        copy.close()
    with partial.open("rb") as file:
        os.fsync(file.fileno())
