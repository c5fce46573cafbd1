"""What `swell db …` does, in the words of its answers. Imported only by those commands: it needs SQLAlchemy."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pydantic import BaseModel
from sqlalchemy.exc import DBAPIError

from server.cli.problem import CommandError, ExitCode, command_error
from server.client.server_record import server_of
from server.database.backup import BackupError, backup_sqlite
from server.database.engine import Database
from server.database.migrate import copy_sqlite, current_revision, newest_revision
from server.database.migrate import upgrade as upgrade_tables
from server.database.move import MoveError, move
from server.settings import Settings


class Upgraded(BaseModel):
    """A database with the newest tables."""

    revision: str | None
    before: str | None
    """None: it was empty."""
    copy_path: str | None
    """Of SQLite as it was before; None: nothing was changed, or it is PostgreSQL."""


class BackedUp(BaseModel):
    """A copy of the database."""

    file: str
    bytes: int


class CopiedTable(BaseModel):
    """A table that arrived."""

    name: str
    num_rows: int
    sha256: str
    """Of its rows, equal on both sides."""


class Moved(BaseModel):
    """A database that was copied into another."""

    tables: tuple[CopiedTable, ...]


def upgrade_database(settings: Settings) -> Upgraded:
    """Raises CommandError while a server serves this home."""
    _refuse_while_serving(settings)
    with _opened(settings.resolved_database_url) as database:
        present, newest = current_revision(database.write_engine), newest_revision()
        copied: Path | None = None
        if present != newest:
            if database.is_sqlite and present is not None:
                copied = copy_sqlite(Path(database.url.database or ""), suffix=present)
            upgrade_tables(database.write_engine)
    return Upgraded(revision=newest, before=present, copy_path=None if copied is None else str(copied))


def back_up_database(settings: Settings, file: Path) -> BackedUp:
    """Raises CommandError where SQLite is not what is used, or the file cannot be written."""
    with _opened(settings.resolved_database_url) as database:
        try:
            return BackedUp(file=str(file), bytes=backup_sqlite(database, file))
        except BackupError as error:
            raise _failed("backup", error) from None


def move_database(settings: Settings, sqlite: str, postgres: str) -> Moved:
    """Raises CommandError while a server serves this home, or where something did not arrive."""
    _refuse_while_serving(settings)
    source_url = sqlite if "://" in sqlite else _existing(sqlite)
    with _opened(source_url) as source, _opened(postgres) as target:
        try:
            found = move(source, target)
        except MoveError as error:
            raise _failed("move", error) from None
    return Moved(tables=tuple(CopiedTable(name=t.name, num_rows=t.num_rows, sha256=t.sha256) for t in found))


def refuse_unusable(url: str) -> None:
    """Raises CommandError where a PostgreSQL does not answer or a file is no database; a file may yet have to come."""
    if not url.startswith("sqlite") or Path(url.partition("///")[2]).exists():
        with _opened(url):
            pass


@contextmanager
def _opened(url: str) -> Iterator[Database]:
    try:
        database = Database(url)
    except ValueError as error:
        raise command_error(ExitCode.BAD_INPUT, "bad-database", "No database", str(error)) from None
    try:
        _reach(database)
        yield database
    finally:
        database.close()


def _reach(database: Database) -> None:
    """Find out here that nobody answers, or that a file is no database, where it is known which of the two it is."""
    try:
        with database.write_engine.connect():
            pass
    except DBAPIError as error:
        # Without the driver's name, which nobody wrote.
        url = database.url.set(drivername=database.url.get_backend_name())
        detail = f"{url.render_as_string(hide_password=True)}: {error.orig}"
        raise command_error(ExitCode.FAILED, "no-database", "No database", detail) from None


def _existing(path: str) -> str:
    file = Path(path).expanduser().resolve()
    if not file.is_file():
        raise command_error(ExitCode.BAD_INPUT, "no-database", "No database", f"There is no file {file}.")
    return f"sqlite:///{file}"


def _refuse_while_serving(settings: Settings) -> None:
    record = server_of(settings.home)
    if record is not None:
        detail = f"A server of {settings.home} runs (process {record.pid}); end it with `swell down` first."
        raise command_error(ExitCode.FAILED, "server-runs", "The server runs", detail)


def _failed(what: str, error: Exception) -> CommandError:
    return command_error(ExitCode.FAILED, f"{what}-failed", f"No {what}", str(error))
