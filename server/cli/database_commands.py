"""`swell db …`: upgrade, back up and move the database. The work is done in `server/database/`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from server.cli.problem import CommandError, ExitCode, command_error
from server.cli.terminal import console
from server.client.location import read_settings
from server.client.server_record import server_of
from server.database.backup import BackupError, backup_sqlite
from server.database.engine import Database
from server.database.migrate import copy_sqlite, current_revision, newest_revision
from server.database.migrate import upgrade as upgrade_tables
from server.database.move import MoveError, move
from server.settings import Settings

commands = typer.Typer()
_db = typer.Typer(help="The database: upgrade, backup, move.", no_args_is_help=True)
commands.add_typer(_db, name="db")


@_db.command()
def upgrade() -> None:
    """Bring the database to the newest tables. SQLite is copied before; make a backup of PostgreSQL yourself."""
    settings = read_settings()
    _refuse_while_serving(settings)
    database = Database(settings.resolved_database_url)
    try:
        present, newest = current_revision(database.write_engine), newest_revision()
        if present == newest:
            console().print(f"The database is at revision {newest} already.")
            return
        if database.is_sqlite and present is not None:
            copy = copy_sqlite(Path(database.url.database or ""), suffix=present)
            console().print(f"Copied the database to {copy}.", soft_wrap=True)
        upgrade_tables(database.write_engine)
        console().print(f"The database is at revision {newest} now; it was at {present or 'none'}.")
    finally:
        database.close()


@_db.command()
def backup(file: Annotated[Path, typer.Argument(metavar="FILE", help="A new file.")]) -> None:
    """Copy the SQLite database in one consistent state, also while a server writes."""
    database = Database(read_settings().resolved_database_url)
    try:
        size = backup_sqlite(database, file)
    except BackupError as error:
        raise _failed("backup", error) from None
    finally:
        database.close()
    console().print(f"{file} has {size:,} bytes; its integrity is checked.", soft_wrap=True)


@_db.command("move")
def move_command(
    sqlite: Annotated[str, typer.Argument(metavar="SQLITE", help="A file, or sqlite:///file.")],
    postgres: Annotated[str, typer.Argument(metavar="POSTGRES", help="postgresql://user@host/name, empty.")],
) -> None:
    """Copy everything from SQLite to an empty PostgreSQL, and compare each table. Stop the server before."""
    settings = read_settings()
    _refuse_while_serving(settings)
    source, target = _opened(sqlite if "://" in sqlite else _existing(sqlite)), _opened(postgres)
    try:
        moved = move(source, target)
    except MoveError as error:
        raise _failed("move", error) from None
    finally:
        source.close()
        target.close()
    table = Table("table", "rows", "sha256", box=None, pad_edge=False, header_style="dim")
    for each in moved:
        table.add_row(each.name, f"{each.num_rows:,}", each.sha256[:16])
    console().print(table)
    console().print("Everything arrived. Start the server with SWELL_DATABASE_URL set to the new database.")


def _existing(path: str) -> str:
    file = Path(path).expanduser().resolve()
    if not file.is_file():
        raise command_error(ExitCode.BAD_INPUT, "no-database", "No database", f"There is no file {file}.")
    return f"sqlite:///{file}"


def _opened(url: str) -> Database:
    try:
        return Database(url)
    except ValueError as error:
        raise command_error(ExitCode.BAD_INPUT, "bad-database", "No database", str(error)) from None


def _refuse_while_serving(settings: Settings) -> None:
    record = server_of(settings.home)
    if record is not None:
        detail = f"A server of {settings.home} runs (process {record.pid}); end it with `swell down` first."
        raise command_error(ExitCode.FAILED, "server-runs", "The server runs", detail)


def _failed(what: str, error: Exception) -> CommandError:
    return command_error(ExitCode.FAILED, f"{what}-failed", f"No {what}", str(error))
