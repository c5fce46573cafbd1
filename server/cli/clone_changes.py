"""`swell clone --set`: from changes of single fields to the merge patch (RFC 7396) that the server takes. Pure."""

from __future__ import annotations

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
    patch = _difference(spec, changed)
    # Without a name the server gives another one; whoever asks for the parent's shall have it.
    return (patch | {"name": changed.get("name")} if "/name" in places else patch), places


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
