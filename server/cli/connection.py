"""Finding the server that a command talks to, and its token.

SWELL_URL and SWELL_TOKEN name a server elsewhere. Without them it is the server of SWELL_HOME.
"""

from __future__ import annotations

import os

from server.cli.client import SwellClient, read_token
from server.cli.problem import ExitCode, command_error
from server.cli.server_record import server_of
from server.settings import Settings


def connect(settings: Settings) -> SwellClient:
    """A client of the server; whether it answers shows at the first call."""
    url = os.environ.get("SWELL_URL")
    if url is None:
        record = server_of(settings.home)
        url = record.url if record else settings.url
    return SwellClient(url=url, token=os.environ.get("SWELL_TOKEN") or read_token(settings.home))


def read_settings() -> Settings:
    """The settings of the environment, or a CommandError that says what is wrong with it."""
    try:
        return Settings.from_environment()
    except ValueError as error:
        raise command_error(ExitCode.BAD_INPUT, "bad-environment", "Bad environment", str(error)) from error
