"""Cursors of run lists: where the next page begins, bound to the filter and the order that they were made for."""

from __future__ import annotations

import base64
import binascii
import hashlib
from typing import Any

import orjson

from server.runs.queries import Place, RunFilter
from server.runs.sorting import RunSort, SortKey


def encode_cursor(place: Place, filter_: RunFilter, sort: RunSort) -> str:
    return base64.urlsafe_b64encode(orjson.dumps([*place, _fingerprint(filter_, sort)])).decode().rstrip("=")


def decode_cursor(text: str, filter_: RunFilter, sort: RunSort) -> Place:
    """The place after which the page begins. Raises ValueError for what we did not make, or made for another list."""
    try:
        decoded = orjson.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except (binascii.Error, ValueError):
        decoded = None
    if not isinstance(decoded, list) or len(decoded) != 3 or not _is_place(decoded[0], decoded[1], sort):
        raise ValueError("is not a cursor; take the next_cursor of a page, unchanged")
    if decoded[2] != _fingerprint(filter_, sort):
        raise ValueError("belongs to a list with another filter or order; begin that list anew")
    return decoded[0], decoded[1]


def _is_place(value: Any, key: Any, sort: RunSort) -> bool:
    fits = isinstance(value, str) if sort.key is SortKey.NAME else value is None or type(value) in (int, float)
    return fits and type(key) is int and abs(key) < 2**63


def _fingerprint(filter_: RunFilter, sort: RunSort) -> str:
    return hashlib.sha256(repr((filter_, sort)).encode()).hexdigest()[:16]
