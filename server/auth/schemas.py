"""What the API says of tokens and login links."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from trainer.contracts.text_model import TextModel


class LoginLink(TextModel):
    """A link that logs one browser in, once."""

    url: str
    """Relative to the server's address: `/login?code=…`."""
    expires_at: datetime


class TokenRequest(TextModel):
    """A token for programs."""

    name: Annotated[str, Field(min_length=1, max_length=200, pattern=r"\S")]
    access: Literal["read", "admin"]


class NewToken(TextModel):
    """A token that was just made. It is told here and never again."""

    name: str
    access: Literal["read", "admin"]
    token: str
