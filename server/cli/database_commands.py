"""Commands about the database: `swell db upgrade`, `backup`, `move`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from server.cli.options import Json
from server.cli.terminal import console, print_json, say
from server.client.location import read_settings

# SQLAlchemy takes longer to import than most commands to run: each command imports its work itself.

commands = typer.Typer()
_db = typer.Typer(help="Upgrade, back up and move the database.", no_args_is_help=True)
commands.add_typer(_db, name="db")


@_db.command()
def upgrade(as_json: Json = False) -> None:
    """Bring the database to the newest tables. SQLite is copied before; make a backup of PostgreSQL yourself."""
    from server.cli.database_work import upgrade_database

    done = upgrade_database(read_settings())
    if as_json:
        return print_json(done)
    if done.before == done.revision:
        return say(f"The database is at revision {done.revision} already.")
    if done.copy_path is not None:
        say(f"Copied the database to {done.copy_path}.")
    return say(f"The database is at revision {done.revision} now; it was at {done.before or 'none'}.")


@_db.command()
def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A new file.")],
    as_json: Json = False,
) -> None:
    """Copy the SQLite database in one consistent state, also while a server writes."""
    from server.cli.database_work import back_up_database

    done = back_up_database(read_settings(), file)
    if as_json:
        print_json(done)
    else:
        say(f"{done.file} has {done.bytes:,} bytes; its integrity is checked.")


@_db.command("move")
def move_command(
    sqlite: Annotated[str, typer.Argument(metavar="SQLITE", help="A file, or sqlite:///file.")],
    postgres: Annotated[str, typer.Argument(metavar="POSTGRES", help="postgresql://user@host/name, empty.")],
    as_json: Json = False,
) -> None:
    """Copy everything from SQLite to an empty PostgreSQL, and compare each table. Stop the server before."""
    from server.cli.database_work import move_database

    done = move_database(read_settings(), sqlite, postgres)
    if as_json:
        return print_json(done)
    table = Table("table", "rows", "sha256", box=None, pad_edge=False, header_style="dim")
    for each in done.tables:
        table.add_row(each.name, f"{each.num_rows:,}", each.sha256[:16])
    console().print(table)
    return say("Everything arrived. Start the server with SWELL_DATABASE_URL set to the new database.")
