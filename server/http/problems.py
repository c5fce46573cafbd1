"""Errors as RFC 9457 problems. `install` maps every error of the app to one; nothing below the endpoints knows HTTP."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from server.errors import BusyError, ConflictError, InvalidError, KeyReusedError, NotFoundError, StaleVersionError
from server.http.pointers import field_problems
from server.http.status_phrase import status_phrase
from trainer.contracts.text_model import TextModel

log = logging.getLogger(__name__)

PROBLEM_JSON = "application/problem+json"


class FieldProblem(TextModel):
    """What is wrong with one part of the request."""

    pointer: str | None = None
    """JSON pointer into the body, e.g. `/batch/global_batch_size`."""
    parameter: str | None = None
    """Name of a query or path parameter."""
    detail: str


class Problem(TextModel):
    """Why a request was not served (RFC 9457)."""

    type: str
    """`/problems/` and a word that programs can rely on, e.g. `/problems/stale-attempt`."""
    title: str
    status: int
    detail: str
    errors: tuple[FieldProblem, ...] = ()


class ProblemError(HTTPException):
    """An answer that is a problem. Only endpoints and what stands before them raise it."""

    def __init__(
        self,
        status: int,
        code: str,
        detail: str,
        *,
        errors: Sequence[FieldProblem] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(status, detail, headers)
        self.code = code
        self.errors = tuple(errors)


def problem_response(error: ProblemError) -> Response:
    problem = Problem(
        type=f"/problems/{error.code}",
        title=status_phrase(error.status_code),
        status=error.status_code,
        detail=error.detail,
        errors=error.errors,
    )
    body = problem.model_dump_json(exclude_none=True)
    return Response(body, error.status_code, headers=error.headers, media_type=PROBLEM_JSON)


def install(app: FastAPI) -> None:
    """Let the app answer every error with a problem."""

    def answer(_request: Request, error: Exception) -> Response:
        return problem_response(_as_problem(error))

    for kind in (
        HTTPException,
        RequestValidationError,
        NotFoundError,
        ConflictError,
        InvalidError,
        KeyReusedError,
        StaleVersionError,
        BusyError,
        Exception,
    ):
        app.add_exception_handler(kind, answer)


def _as_problem(error: Exception) -> ProblemError:
    match error:
        case ProblemError():
            return error
        case HTTPException():
            phrase = status_phrase(error.status_code)
            return ProblemError(
                error.status_code, phrase.lower().replace(" ", "-"), error.detail or phrase, headers=error.headers
            )
        case RequestValidationError():
            found = [FieldProblem(**values) for values in field_problems(error.errors(), error.body)]
            return ProblemError(422, "invalid", _first(found), errors=found)
        case InvalidError():
            found = [FieldProblem(pointer=pointer, detail=detail) for pointer, detail in error.errors]
            return ProblemError(422, "invalid", _first(found), errors=found)
        case NotFoundError():
            return ProblemError(404, "not-found", str(error))
        case ConflictError():
            found = [] if error.pointer is None else [FieldProblem(pointer=error.pointer, detail=str(error))]
            return ProblemError(409, error.code, str(error), errors=found)
        case KeyReusedError():
            reused = FieldProblem(parameter="Idempotency-Key", detail=str(error))
            return ProblemError(422, "idempotency-key-reused", str(error), errors=[reused])
        case StaleVersionError():
            return ProblemError(412, "stale-version", str(error))
        case BusyError():
            return ProblemError(429, "busy", f"{error}; try again.", headers={"Retry-After": "1"})
    # The traceback is logged by the server; the answer tells nothing of the inside.
    return ProblemError(500, "internal", "The server failed to answer; its log says why.")


def _first(found: Sequence[FieldProblem]) -> str:
    first = found[0]
    where = first.pointer if first.pointer is not None else first.parameter
    more = f" ({len(found) - 1} more)" if len(found) > 1 else ""
    return f"{where or 'body'}: {first.detail}{more}"


def problem_schema() -> dict[str, Any]:
    """The OpenAPI response object of a problem."""
    return {
        "description": "A problem (RFC 9457)",
        "content": {PROBLEM_JSON: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
