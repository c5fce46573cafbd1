"""What a status is called, in RFC 9110's words: those of Python's own table change with its version. Pure."""

from __future__ import annotations

from http import HTTPStatus

_RENAMED = {413: "Content Too Large", 416: "Range Not Satisfiable", 422: "Unprocessable Content"}


def status_phrase(status: int) -> str:
    """The title of a problem with this status.

    >>> status_phrase(422), status_phrase(404)
    ('Unprocessable Content', 'Not Found')
    """
    return _RENAMED.get(status) or HTTPStatus(status).phrase
