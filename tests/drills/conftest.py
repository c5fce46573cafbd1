"""The servers and databases of the server's own tests."""

from __future__ import annotations

from tests.server.conftest import database_url, postgres_uri, postgres_url, server, sqlite_server

__all__ = ["database_url", "postgres_uri", "postgres_url", "server", "sqlite_server"]
