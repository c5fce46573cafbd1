"""JSON that is almost right: a good body in which one or two places hold something odd."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st

_GONE = object()
_ODD = (
    _GONE,
    None,
    True,
    -1,
    0,
    1.5,
    -0.0,
    5e-324,
    1e308,
    float("nan"),
    2**31,
    2**53,
    2**63,
    10**30,
    "",
    "  ",
    "NaN",
    "-Infinity",
    "1/0",
    "1/3",
    "a\0b",
    "\ud800",
    "\u202eevil",
    "é",
    "e\u0301",
    "\U0001f525",
    "x" * 201,
    "x" * 120_000,
    "0001-01-01T00:00:00+14:00",
    "9999-12-31T23:59:59-12:00",
    "2026-01-01T00:00:00",
    "%2e%2e/",
    [],
    [[]],
    [None],
    {},
    {"": 1},
    {"a": {"b": {"c": []}}},
)
_Place = tuple[Any, ...]


def bent(good: Any) -> st.SearchStrategy[Any]:
    """The body as it is, or with one or two places bent."""
    places = [place for place in _places(good) if place]
    if not places:
        return st.just(good)
    change = st.tuples(st.sampled_from(places), st.sampled_from(_ODD))
    return st.lists(change, max_size=2).map(lambda changes: _applied(good, changes))


def _places(value: Any, at: _Place = ()) -> Iterator[_Place]:
    yield at
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield from _places(item, (*at, key))
    if isinstance(value, dict):
        yield (*at, "unknown")


def _applied(good: Any, changes: list[tuple[_Place, Any]]) -> Any:
    made = copy.deepcopy(good)
    for place, odd in changes:
        try:
            holder = made
            for key in place[:-1]:
                holder = holder[key]
            if odd is _GONE:
                del holder[place[-1]]
            else:
                holder[place[-1]] = odd
        except (KeyError, IndexError, TypeError):
            continue  # the change before took this place away
    return made
