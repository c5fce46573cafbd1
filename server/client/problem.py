"""What went wrong when the server was asked: its own problem (RFC 9457), as an exception.

SwellError
 ├─ InvalidError    what was sent is wrong; `pointers` name the fields
 ├─ NotFoundError   there is no such run, step or metric
 └─ NoServerError   nobody answers, not even through a proxy, or it is not known who should be asked
"""

from __future__ import annotations

import httpx
from pydantic import BaseModel, ValidationError

_INVALID = (400, 413, 415, 422)
_AWAY = (502, 503, 504)
"""Of a proxy whose server does not answer, or of a server that ends."""


class FieldProblem(BaseModel):
    """What is wrong with one field. Mirrors `server.http.problems`, which is slow to import."""

    pointer: str | None = None
    parameter: str | None = None
    detail: str


class Problem(BaseModel):
    """RFC 9457. A later server may say more than this client knows: unknown fields are left out, not refused."""

    type: str
    title: str
    status: int | None = None
    detail: str
    errors: tuple[FieldProblem, ...] = ()


class SwellError(Exception):
    """The server refused, or could not be asked."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.problem = problem

    def __str__(self) -> str:
        lines = [f"{self.problem.title}: {self.problem.detail}"]
        lines += [f"  {error.pointer or error.parameter or 'the whole'}: {error.detail}" for error in self.errors]
        return "\n".join(lines)

    @property
    def title(self) -> str:
        return self.problem.title

    @property
    def detail(self) -> str:
        return self.problem.detail

    @property
    def status(self) -> int | None:
        """The HTTP status; None when there was no answer."""
        return self.problem.status

    @property
    def errors(self) -> tuple[FieldProblem, ...]:
        """What is wrong, field by field."""
        return self.problem.errors

    @property
    def pointers(self) -> tuple[str, ...]:
        """JSON pointers into what was sent, e.g. `/batch/global_batch_size`."""
        return tuple(error.pointer for error in self.errors if error.pointer is not None)


class InvalidError(SwellError):
    """What was sent is wrong, and will be wrong the next time too."""


class NotFoundError(SwellError):
    """There is no such run, step or metric."""


class NoServerError(SwellError):
    """Nobody answers, or it is not known whom to ask."""


def local_problem(kind: str, title: str, detail: str) -> Problem:
    """A problem that is found without asking the server."""
    return Problem(type=f"/problems/{kind}", title=title, detail=detail)


def error_of(response: httpx.Response) -> SwellError:
    """The error that an answer tells; of one that is no problem+json, what can be said of it."""
    try:
        problem = Problem.model_validate_json(response.content)
    except ValidationError:
        problem = Problem(
            type="about:blank",
            title=response.reason_phrase or str(response.status_code),
            detail=f"{response.url} answered {response.status_code}; is it a Swell server?",
        )
    problem = problem.model_copy(update={"status": response.status_code})
    if response.status_code == httpx.codes.NOT_FOUND:
        return NotFoundError(problem)
    if response.status_code in _AWAY:
        return NoServerError(problem)
    return InvalidError(problem) if response.status_code in _INVALID else SwellError(problem)
