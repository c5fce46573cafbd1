"""What went wrong, as the command line tells it: exit codes, and problems of our own beside the server's."""

from __future__ import annotations

from enum import IntEnum

from server.client.problem import InvalidError, NoServerError, NotFoundError, Problem, SwellError, local_problem


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


class CommandError(SwellError):
    """Ends the command with a problem on stderr and an exit code."""

    def __init__(self, problem: Problem, code: ExitCode) -> None:
        super().__init__(problem)
        self.code = code


def command_error(code: ExitCode, kind: str, title: str, detail: str) -> CommandError:
    """A problem that the command line finds by itself."""
    return CommandError(local_problem(kind, title, detail), code)


def exit_code_of(error: SwellError) -> ExitCode:
    """What a command ends with that fails like this."""
    match error:
        case CommandError():
            return error.code
        case InvalidError():
            return ExitCode.BAD_INPUT
        case NotFoundError():
            return ExitCode.NOT_FOUND
        case NoServerError():
            return ExitCode.NO_SERVER
    return ExitCode.FAILED
