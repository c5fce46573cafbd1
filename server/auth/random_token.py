"""Secrets that are shown once, and what is kept of them."""

from __future__ import annotations

import hashlib
import secrets


def new_token(prefix: str) -> str:
    """A secret of 256 random bits. The prefix tells people and secret scanners what it is."""
    return f"{prefix}_{secrets.token_urlsafe(32)}"


def hash_token(token: str) -> str:
    """What the database keeps. Tokens are long and random, so a plain hash cannot be guessed back."""
    return hashlib.sha256(token.encode()).hexdigest()
