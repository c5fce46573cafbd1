"""`swell clone --set`: from changes of single fields to the merge patch (RFC 7396) that the server takes. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from copy import deepcopy
from typing import Any

from server.cli.spec_file import change_spec


def clone_changes(spec: Mapping[str, Any], changes: Iterable[str]) -> tuple[dict[str, Any], dict[str, str]]:
    """The merge patch, and for each JSON pointer the `--set` that put something there.

    Raises CommandError (bad input) for a change that has no place in the spec.
    """
    changed: dict[str, Any] = deepcopy(dict(spec))
    places = dict(change_spec(changed, change) for change in changes)
    return _difference(spec, changed), places


def next_name(name: str) -> str:
    """What a clone is called unless it is told otherwise, so that lists tell both apart.

    >>> next_name("demo"), next_name("demo-2")
    ('demo-2', 'demo-3')
    """
    stem, count = found.groups() if (found := re.fullmatch(r"(?s)(.*?)-([1-9]\d{0,3})", name)) else (name, "1")
    return f"{stem}-{int(count) + 1}"


def _difference(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """What makes `after` of `before`.

    >>> _difference({"a": {"b": 1, "c": 2}, "d": [1], "e": 0}, {"a": {"b": 1, "c": 3}, "d": [2]})
    {'a': {'c': 3}, 'd': [2], 'e': None}
    """
    patch: dict[str, Any] = {}
    for name, value in after.items():
        known = before.get(name)
        if isinstance(value, dict) and isinstance(known, dict):
            if inner := _difference(known, value):
                patch[name] = inner
        elif name not in before or value != known:
            patch[name] = value
    return patch | {name: None for name in before if name not in after}
