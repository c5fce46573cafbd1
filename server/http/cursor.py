"""Cursors of lists: where the next page begins, bound to the filter that they were made for."""

from __future__ import annotations

import base64
import binascii
import hashlib

import orjson

from server.http.problems import FieldProblem, ProblemError


def encode_place(place: tuple[int, int], filter_: object) -> str:
    """A cursor for the page after `place`. filter_: its `repr` tells it from other filters."""
    return base64.urlsafe_b64encode(orjson.dumps([*place, _fingerprint(filter_)])).decode().rstrip("=")


def place_of(cursor: str | None, filter_: object) -> tuple[int, int] | None:
    """The place behind the query parameter `cursor`, if it was given. Raises a 422 for one that is not of this list."""
    if cursor is None:
        return None
    try:
        return decode_place(cursor, filter_)
    except ValueError as error:
        problem = FieldProblem(parameter="cursor", detail=str(error))
        raise ProblemError(422, "invalid", f"cursor {error}.", errors=[problem]) from None


def decode_place(text: str, filter_: object) -> tuple[int, int]:
    """The place. Raises ValueError for what we did not make, or made for another filter."""
    try:
        decoded = orjson.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except (binascii.Error, ValueError):
        decoded = None
    if not isinstance(decoded, list) or len(decoded) != 3 or not _is_place(*decoded[:2]):
        raise ValueError("is not a cursor; take the next_cursor of a page, unchanged")
    if decoded[2] != _fingerprint(filter_):
        raise ValueError("belongs to a list with another filter; begin that list anew")
    return decoded[0], decoded[1]


def _is_place(first: object, second: object) -> bool:
    """Whether the columns of a list can hold it: a step or an iteration, and a smaller number within it."""
    return type(first) is int and type(second) is int and 0 <= first < 2**53 and 0 <= second < 2**31


def _fingerprint(filter_: object) -> str:
    return hashlib.sha256(repr(filter_).encode()).hexdigest()[:16]
