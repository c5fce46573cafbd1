"""What went wrong, as the command line tells it: exit codes, and problems of the server or of our own."""

from __future__ import annotations

from enum import IntEnum

from pydantic import BaseModel


class ExitCode(IntEnum):
    """What scripts can rely on. An interrupted command ends with 130."""

    OK = 0
    FAILED = 1
    """The server refused, or the watched run did not succeed."""
    BAD_INPUT = 2
    """Wrong usage, or a spec that is refused."""
    NOT_FOUND = 3
    """No such run or metric."""
    NO_SERVER = 4
    """No server answers."""
    INTERRUPTED = 130


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


class CommandError(Exception):
    """Ends the command with a problem on stderr and an exit code."""

    def __init__(self, problem: Problem, code: ExitCode) -> None:
        super().__init__(problem.detail)
        self.problem = problem
        self.code = code


def command_error(code: ExitCode, kind: str, title: str, detail: str) -> CommandError:
    """A problem that the command line finds by itself."""
    return CommandError(Problem(type=f"/problems/{kind}", title=title, detail=detail), code)


def exit_code_of(status: int) -> ExitCode:
    """Translate an HTTP status.

    >>> exit_code_of(422).name
    'BAD_INPUT'
    """
    match status:
        case 404:
            return ExitCode.NOT_FOUND
        case 400 | 413 | 422:
            return ExitCode.BAD_INPUT
    return ExitCode.FAILED
