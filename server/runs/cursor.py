"""Cursors of run lists: where the next page begins, bound to the filter that they were made for."""

from __future__ import annotations

import base64
import binascii
import hashlib

import orjson

from server.runs.queries import RunFilter


def encode_cursor(key: int, filter_: RunFilter) -> str:
    return base64.urlsafe_b64encode(orjson.dumps([key, _fingerprint(filter_)])).decode().rstrip("=")


def decode_cursor(text: str, filter_: RunFilter) -> int:
    """The key below which the page begins. Raises ValueError for what we did not make, or made for another filter."""
    try:
        decoded = orjson.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except (binascii.Error, ValueError):
        decoded = None
    if not isinstance(decoded, list) or len(decoded) != 2 or not isinstance(decoded[0], int):
        raise ValueError("is not a cursor; take the next_cursor of a page, unchanged")
    if decoded[1] != _fingerprint(filter_):
        raise ValueError("belongs to a list with another filter; begin that list anew")
    return decoded[0]


def _fingerprint(filter_: RunFilter) -> str:
    return hashlib.sha256(repr(filter_).encode()).hexdigest()[:16]
