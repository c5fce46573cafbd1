"""Finds a key that an object in a body says twice. Parsers keep the last one silently, which may not be what is meant.

Called for every body: it must cost little where all is well.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import orjson

from server.http.pointers import pointer

_ESCAPED_COLON = b"\\u003"
"""How a text may hide a colon; nobody writes it so, and other characters are few that begin like that."""


@dataclass(slots=True)
class _Doubled:
    """Stands for an object that says a key twice."""

    key: str


def doubled_key(body: bytes, value: Any) -> str | None:
    """JSON pointer to the first key that an object says twice, or None. value: what the body was parsed to."""
    if not _may_have_lost_a_key(body, value):
        return None
    try:
        return next(_places(json.loads(body, object_pairs_hook=_kept), ()), None)
    except RecursionError:
        # So deep that no field takes it.
        return None


def _may_have_lost_a_key(body: bytes, value: Any) -> bool:
    """A key that was lost took its colon along, and a value's other colons are those of its texts."""
    try:
        kept = orjson.dumps(value).count(b":")
    except orjson.JSONEncodeError:
        return True
    return body.count(b":") != kept or _ESCAPED_COLON in body


def _kept(pairs: list[tuple[str, Any]]) -> Any:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    return _Doubled(next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1))


def _places(value: Any, path: tuple[str | int, ...]) -> Iterator[str]:
    if isinstance(value, _Doubled):
        yield pointer((*path, value.key))
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for part, under in inner:
        yield from _places(under, (*path, part))
