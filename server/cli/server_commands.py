"""Commands about the server itself: `up`, `down`, `login`, `tokens`, `doctor`."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from typing import Annotated

import typer

from server.cli.connection import connect
from server.cli.doctor import examination_table, examine
from server.cli.options import Json
from server.cli.problem import ExitCode
from server.cli.tables import tokens_table
from server.cli.terminal import console, print_json, say
from server.cli.up import UpOptions, down, up
from server.client.location import read_settings

commands = typer.Typer()
tokens = typer.Typer(help="List, make and revoke the tokens of programs and browsers.", no_args_is_help=True)


class TokenAccess(StrEnum):
    """What a token grants."""

    READ = "read"
    WRITE = "write"
    ADMIN = "admin"


@commands.command("up")
def up_command(
    demo: Annotated[bool, typer.Option(help="Submit the demo run unless there is one.")] = False,
    host: Annotated[str | None, typer.Option(help="Address to listen on.")] = None,
    port: Annotated[int | None, typer.Option(min=1, max=65_535, help="Port to listen on.")] = None,
    browser: Annotated[bool, typer.Option(help="Open the dashboard in a browser, where there is a screen.")] = True,
) -> None:
    """Serve until Ctrl-C: database, API, dashboard, and a local Ray head when the first run needs it.

    Runs go on without a server; the next `swell up` finds them again.
    """
    settings = read_settings()
    settings = replace(settings, host=host or settings.host, port=port or settings.port)
    up(settings, UpOptions(demo=demo, open_browser=browser), console())


@commands.command("down")
def down_command(
    force: Annotated[bool, typer.Option(help="Cancel active runs instead of refusing.")] = False,
) -> None:
    """End the server and the Ray head; refuse while runs are active."""
    down(read_settings(), force=force, console=console())


@commands.command()
def login() -> None:
    """Print a new link that logs one browser in."""
    with connect() as client:
        print(client.login_link())


@commands.command()
def doctor(as_json: Json = False) -> None:
    """Check that this machine has what a run needs. Exit code 1 when something would stop it."""
    examination = examine(read_settings())
    if as_json:
        print_json(examination)
    else:
        console().print(examination_table(examination))
    if examination.has_problems:
        raise typer.Exit(ExitCode.FAILED)


@tokens.command("list")
def list_tokens(as_json: Json = False) -> None:
    """List tokens, newest first, without their secrets."""
    with connect() as client:
        found = client.tokens()
    if as_json:
        print_json(found)
    else:
        console().print(tokens_table(found))


@tokens.command("create")
def create_token(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What the token is for.")],
    access: Annotated[TokenAccess, typer.Option(help="What it may do.")] = TokenAccess.READ,
    as_json: Json = False,
) -> None:
    """Make a token for a program and print it. It cannot be shown again."""
    with connect() as client:
        made = client.create_token(name, access=access.value)
    if as_json:
        print_json(made)
    else:
        print(made.token)


@tokens.command("revoke")
def revoke_token(
    token_id: Annotated[int, typer.Argument(metavar="ID", min=1, help="As `swell tokens list` shows it.")],
) -> None:
    """End a token, or log a browser out, at once."""
    with connect() as client:
        client.revoke_token(token_id)
    say(f"Token {token_id} is revoked.")


commands.add_typer(tokens, name="tokens")
