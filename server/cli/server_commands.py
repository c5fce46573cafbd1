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
from server.cli.terminal import console, print_json, tell_result
from server.cli.up import UpOptions, down, up
from server.client.location import read_settings

commands = typer.Typer()
tokens = typer.Typer()


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
    as_json: Json = False,
) -> None:
    """Serve until Ctrl-C: database, API, dashboard, and a local Ray head when the first run needs it.

    Runs go on without a server; the next `swell up` finds them again. With --json a line with its address and a login
    link tells that it is ready.
    """
    settings = read_settings()
    settings = replace(settings, host=host or settings.host, port=port or settings.port)
    up(settings, UpOptions(demo=demo, open_browser=browser, as_json=as_json), console())


@commands.command("down")
def down_command(
    force: Annotated[bool, typer.Option(help="Cancel active runs instead of refusing.")] = False,
    as_json: Json = False,
) -> None:
    """End the server and the Ray head; refuse while runs are active."""
    what = down(read_settings(), force=force)
    tell_result(what.sentence, as_json=as_json, server=what.had_server, head=what.had_head)


@commands.command()
def login(as_json: Json = False) -> None:
    """Print a new link that logs one browser in."""
    with connect() as client:
        link = client.login_link()
    tell_result(link, as_json=as_json, url=link)


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


@tokens.callback(invoke_without_command=True)
def tokens_command(context: typer.Context, as_json: Json = False) -> None:
    """List, make and revoke the tokens of programs and browsers. Without a command: list them."""
    if context.invoked_subcommand is None:
        list_tokens(as_json=as_json)
    elif as_json:
        command = context.invoked_subcommand
        raise typer.BadParameter(f"put --json behind the command: swell tokens {command} --json")


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


@tokens.command("rotate")
def rotate_token(
    token_id: Annotated[
        int | None, typer.Argument(metavar="[ID]", min=1, help="Without it: the admin token, in the server's file too.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Give a token another secret and print it. The old one ends at once."""
    with connect() as client:
        token = client.rotate_admin_token() if token_id is None else client.rotate_token(token_id).token
    if as_json:
        tell_result("", as_json=True, token=token)
    else:
        print(token)


@tokens.command("revoke")
def revoke_token(
    token_id: Annotated[int, typer.Argument(metavar="ID", min=1, help="As `swell tokens list` shows it.")],
    as_json: Json = False,
) -> None:
    """End a token, or log a browser out, at once."""
    with connect() as client:
        client.revoke_token(token_id)
    tell_result(f"Token {token_id} is revoked.", as_json=as_json, id=token_id)


commands.add_typer(tokens, name="tokens")
