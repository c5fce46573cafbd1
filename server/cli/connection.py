"""The client that a command works with."""

from __future__ import annotations

from server.client.client import SwellClient
from server.client.location import access_token, read_settings, server_url
from server.settings import Settings

_MAX_RETRIES = 2
"""Who sits before a terminal would rather be told soon."""


def connect(settings: Settings | None = None) -> SwellClient:
    """A client of the server that SWELL_URL, or else the home, names. Whether it answers shows at the first call."""
    settings = settings or read_settings()
    return SwellClient(url=server_url(settings), token=access_token(settings), max_retries=_MAX_RETRIES)
