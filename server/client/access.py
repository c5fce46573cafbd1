"""Who may ask a server what, and who changed what, as typed calls. All of it wants a token of an administrator."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from server.audit.schemas import AuditEvent, AuditPage
from server.auth.schemas import LoginLink, NewAdminToken, NewToken, TokenList
from server.client.connection import Connection
from server.client.paging import all_items


class ServerAccess:
    """Tokens, login links, and the record of changes."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def login_link(self) -> str:
        """A new link that logs one browser in."""
        return self._connection.url + self._connection.ask(LoginLink, "POST", "/login-links").url

    def tokens(self) -> TokenList:
        """Tokens of programs and browsers, without their secrets."""
        return self._connection.ask(TokenList, "GET", "/tokens")

    def create_token(self, name: str, *, access: Literal["read", "write", "admin"]) -> NewToken:
        """Make a token for a program. Its secret is told here and never again."""
        return self._connection.ask(NewToken, "POST", "/tokens", json={"name": name, "access": access})

    def rotate_token(self, token_id: int) -> NewToken:
        """Give a program's token another secret, which is told here and never again. The old one ends at once."""
        return self._connection.ask(NewToken, "POST", f"/tokens/{token_id:d}/rotate")

    def rotate_admin_token(self) -> str:
        """Give the admin token another secret, in the server's own file too. The old one ends at once."""
        return self._connection.ask(NewAdminToken, "POST", "/admin-token/rotate").token

    def revoke_token(self, token_id: int) -> None:
        """End a token at once."""
        self._connection.send("DELETE", f"/tokens/{token_id:d}")

    def audit(self) -> Iterator[AuditEvent]:
        """Changes that clients made, newest first. They are asked for page by page."""
        return all_items(
            self._connection, AuditPage, "/audit", [("limit", "1000")], at=("before", None), then="next_before"
        )
