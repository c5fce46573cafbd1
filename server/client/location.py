"""Finding the server that a client talks to, and its token.

SWELL_URL and SWELL_TOKEN name a server elsewhere. Without them it is the server of SWELL_HOME, on this machine.
"""

from __future__ import annotations

import os
from pathlib import Path

from server.client.problem import InvalidError, NoServerError, local_problem
from server.client.server_record import server_of, unusable_home
from server.settings import Settings


def read_settings() -> Settings:
    """The settings of the environment. Raises InvalidError with what is wrong with it."""
    try:
        return Settings.from_environment()
    except ValueError as error:
        raise InvalidError(local_problem("bad-environment", "Bad environment", str(error))) from error


def server_url(settings: Settings) -> str:
    """SWELL_URL, or where the server of this home listens; whether it answers shows at the first request."""
    if url := os.environ.get("SWELL_URL"):
        return url
    record = server_of(settings.home)
    return record.url if record else settings.url


def access_token(settings: Settings) -> str:
    """SWELL_TOKEN, or the admin token of this home. Raises NoServerError where there is none."""
    return os.environ.get("SWELL_TOKEN") or read_token(settings.home)


def read_token(home: Path) -> str:
    """The admin token of this home. Raises NoServerError where there is none, InvalidError where it is not ours."""
    path = home / "token"
    try:
        return path.read_text().strip()
    except PermissionError as error:
        raise unusable_home(home, error) from error
    except (FileNotFoundError, NotADirectoryError):
        detail = (
            f"There is no token at {path}: no server has been started here. Start one with `swell up`, point "
            "SWELL_HOME at the directory of one, or name one elsewhere with SWELL_URL and SWELL_TOKEN."
        )
        raise NoServerError(local_problem("no-server", "No server", detail)) from None
