"""From pydantic's errors to JSON pointers into the body that was sent."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from trainer.contracts.text_model import FieldError

_MEMBER = re.compile(r"<\w+\.\w+: ('[^']*')>")


def field_problems(errors: Iterable[Any], body: Any) -> list[dict[str, str]]:
    """One entry per field that is wrong: `{"pointer" | "parameter": where, "detail": sentence}`.

    A FieldError names several fields; each of them gets an entry with the same sentence.
    """
    found: list[dict[str, str]] = []
    errors = list(errors)
    for error in errors:
        if _is_echo(error, errors):
            continue
        source, *loc = error["loc"]
        detail = _detail(error)
        if source != "body":
            found.append({"parameter": str(loc[0] if loc else source), "detail": detail})
            continue
        path = body_path(loc, body, missing=error["type"] == "missing")
        fields = _fields(error)
        found.extend({"pointer": pointer([*path, *field.split(".")]), "detail": detail} for field in fields)
        if not fields:
            found.append({"pointer": pointer(path), "detail": detail})
    return found


def body_path(loc: Sequence[str | int], body: Any, *, missing: bool) -> list[str | int]:
    """The part of pydantic's location that exists in the body: it also names union members, which nobody wrote.

    >>> body_path(["batch", "fixed", "global_batch_size"], {"batch": {"global_batch_size": 0}}, missing=False)
    ['batch', 'global_batch_size']
    """
    path: list[str | int] = []
    here = body
    for k, part in enumerate(loc):
        is_last = k == len(loc) - 1
        if _holds(here, part):
            here = here[part]
        elif not (missing and is_last):
            continue
        path.append(part)
    return path


def _holds(value: Any, part: str | int) -> bool:
    if isinstance(value, list):
        return isinstance(part, int) and part < len(value)
    return isinstance(value, dict) and part in value


def pointer(path: Iterable[str | int]) -> str:
    """RFC 6901.

    >>> pointer(["metrics", "a/b", 0])
    '/metrics/a~1b/0'
    """
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)


def _is_echo(error: Any, errors: Sequence[Any]) -> bool:
    """Whether a list is called too short only because entries of it are wrong."""
    loc = error["loc"]
    return error["type"] == "too_short" and any(
        len(other["loc"]) > len(loc) and other["loc"][: len(loc)] == loc for other in errors
    )


def _fields(error: Any) -> tuple[str, ...]:
    cause = error.get("ctx", {}).get("error")
    return cause.fields if isinstance(cause, FieldError) else ()


def _detail(error: Any) -> str:
    cause = error.get("ctx", {}).get("error")
    if isinstance(cause, Exception):
        return str(cause)
    # A choice of a closed set is told as Python writes it: <Remainder.PARTIAL: 'partial'>.
    message = _MEMBER.sub(r"\1", str(error["msg"]))
    return "unknown field" if error["type"] == "extra_forbidden" else message
