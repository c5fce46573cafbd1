"""What the API says of tokens and login links."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from server.page import Page
from trainer.contracts.text_model import TextModel


class LoginLink(TextModel):
    """A link that logs one browser in, once."""

    url: str
    """Relative to the server's address: `/login?code=…`."""
    expires_at: datetime


class TokenRequest(TextModel):
    """A token for programs."""

    name: Annotated[str, Field(min_length=1, max_length=200, pattern=r"\S")]
    access: Literal["read", "write", "admin"]


class TokenInfo(TextModel):
    """A token without its secret."""

    id: int
    kind: Literal["api", "session"]
    """`api`: made for a program; `session`: a browser that followed a login link."""
    name: str
    access: Literal["read", "write", "admin"]
    created_at: datetime
    expires_at: datetime | None
    rotated_at: datetime | None
    """When it was last given another secret."""
    revoked_at: datetime | None


class TokenList(Page[TokenInfo]):
    """Tokens, newest first; the newest thousand of them."""


class NewAdminToken(TextModel):
    """The admin token that was just made; it is in the server's own file, too."""

    token: str


class NewToken(TextModel):
    """A token that was just made, or given another secret. It is told here and never again."""

    id: int
    name: str
    access: Literal["read", "write", "admin"]
    token: str
