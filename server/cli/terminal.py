"""Where commands write: results to stdout, problems to stderr; JSON alone where it was asked for."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable

from pydantic import BaseModel
from rich.console import Console

from server.cli.tables import problem_text, shown
from server.client.problem import Problem, SwellError

Place = Callable[[str], str]
"""Where a field was written, by its JSON pointer."""


def console() -> Console:
    # Into a pipe or a file, lines are as long as they are: 80 columns would cut ids and reasons.
    return Console() if sys.stdout.isatty() else Console(width=200)


def say(sentence: str) -> None:
    """One line of text, which may hold what others wrote."""
    console().print(shown(sentence), soft_wrap=True)


def hint(sentence: str) -> None:
    """A line beside the result, for people alone."""
    Console(stderr=True).print(shown(sentence), soft_wrap=True)


def print_json(model: BaseModel) -> None:
    print(model.model_dump_json(), flush=True)


def tell_result(sentence: str, *, as_json: bool, **facts: str | int | bool) -> None:
    """What a command has done: a sentence, or its facts as a JSON object."""
    if as_json:
        print(json.dumps(facts), flush=True)
    else:
        say(sentence)


def tell_problem(problem: Problem, *, as_json: bool, place: Place | None = None) -> None:
    if as_json:
        print(problem.model_dump_json(exclude_none=True), file=sys.stderr)
    else:
        Console(stderr=True).print(problem_text(problem, place), soft_wrap=True)


class RefusedFieldsError(Exception):
    """The server refused fields, and it is known where they were written."""

    def __init__(self, error: SwellError, place: Place) -> None:
        super().__init__(str(error))
        self.error = error
        self.place = place
