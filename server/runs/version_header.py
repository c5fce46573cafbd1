"""A run's version as the headers ETag and If-Match tell it (RFC 9110)."""

from __future__ import annotations

import re
from typing import Annotated, TypeAlias

from fastapi import Header

from server.http.problems import FieldProblem, ProblemError

_ETAG = re.compile(r'"(\d{1,18})"', re.ASCII)

IfMatch: TypeAlias = Annotated[
    str | None, Header(max_length=100, description="The ETag of the run as it was read: change that version or none.")
]


def etag(version: int) -> str:
    return f'"{version}"'


def version_of(if_match: str | None) -> int | None:
    """The version that a request is for; None: for any. Raises a problem for what is no ETag of a run."""
    if if_match is None or if_match.strip() == "*":
        return None
    found = _ETAG.fullmatch(if_match.strip())
    if found is None:
        detail = f"{if_match!r} is no ETag of a run; send the one that reading the run told, with its quotes"
        raise ProblemError(422, "invalid", detail, errors=[FieldProblem(parameter="If-Match", detail=detail)])
    return int(found[1])
