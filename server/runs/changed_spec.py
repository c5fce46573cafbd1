"""A spec with changes, for a clone: a JSON merge patch (RFC 7396), checked as a whole. Pure."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from orchestrator.contracts.run_spec import RunSpec
from server.errors import InvalidError
from server.http.pointers import field_problems


def changed_spec(spec: RunSpec, changes: dict[str, Any]) -> RunSpec:
    """The spec with the changes laid over it. Raises InvalidError with pointers below /changes."""
    merged = merge_patch(spec.model_dump(mode="json", exclude_unset=True), changes)
    try:
        return RunSpec.model_validate(merged)
    except ValidationError as error:
        located = [{**each, "loc": ("body", "changes", *each["loc"])} for each in error.errors()]
        found = field_problems(located, {"changes": merged})
        raise InvalidError([(problem["pointer"], problem["detail"]) for problem in found]) from None


def merge_patch(target: Any, patch: Any) -> Any:
    """What RFC 7396 makes of it: objects are merged, null takes a field away, everything else takes its place.

    >>> merge_patch({"a": {"b": 1, "c": 2}, "d": [1]}, {"a": {"b": None}, "d": [2]})
    {'a': {'c': 2}, 'd': [2]}
    """
    if not isinstance(patch, dict):
        return patch
    merged = dict(target) if isinstance(target, dict) else {}
    # A block of another type shares no fields with the one before.
    if "type" in patch and patch["type"] != merged.get("type"):
        merged = {}
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = merge_patch(merged.get(name), value)
    return merged
