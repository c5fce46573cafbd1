"""Reading sample lengths for a plan: one number per line, a JSON list, or CSV or JSONL with a `num_tokens` column."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from orchestrator.contracts.plan import MAX_LENGTHS, ListedLengths
from server.cli.problem import CommandError, ExitCode, command_error

_COLUMN = "num_tokens"
_MOST_TOKENS = 2**40


def read_lengths(path: Path) -> ListedLengths:
    """The lengths in a file, told apart by how it begins.

    Raises CommandError (bad input) with the line of what is wrong.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise _bad(f"There is no file {path}.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise _bad(f"{path} cannot be read: {error}") from error
    found = tuple(islice(_lengths(text, path), MAX_LENGTHS + 1))
    if not found:
        raise _bad(f"{path} holds no lengths.")
    if len(found) > MAX_LENGTHS:
        raise _bad(f"{path} holds more than {MAX_LENGTHS:,} lengths; give a random part of them.")
    return ListedLengths(type="list", num_tokens=found)


def _lengths(text: str, path: Path) -> Iterator[int]:
    begin = text.lstrip()
    if begin.startswith("["):
        return _of_json(text, path)
    if begin.startswith("{"):
        return _of_json_lines(text, path)
    first = begin.partition("\n")[0].strip()
    if _COLUMN in _cells(first):
        return _of_csv(text, path)
    return _of_lines(text, path)


def _of_json(text: str, path: Path) -> Iterator[int]:
    values = _parsed(text, path, line=1)
    for k, value in enumerate(values):
        yield _length(value, f"{path}, entry {k}")


def _of_json_lines(text: str, path: Path) -> Iterator[int]:
    for line, content in _full_lines(text):
        entry = _parsed(content, path, line=line)
        if not isinstance(entry, dict) or _COLUMN not in entry:
            raise _bad(f"{path}:{line} has no {_COLUMN!r}; every line must be an object with one.")
        yield _length(entry[_COLUMN], f"{path}:{line}")


def _of_csv(text: str, path: Path) -> Iterator[int]:
    reader = csv.reader(text.splitlines())
    column = next(cells for cells in reader if cells).index(_COLUMN)
    for cells in reader:
        if not cells:
            continue
        if column >= len(cells):
            raise _bad(f"{path}:{reader.line_num} has {len(cells)} columns; {_COLUMN} is column {column + 1}.")
        yield _length(cells[column], f"{path}:{reader.line_num}")


def _of_lines(text: str, path: Path) -> Iterator[int]:
    for line, content in _full_lines(text):
        yield _length(content, f"{path}:{line}")


def _full_lines(text: str) -> Iterable[tuple[int, str]]:
    return ((line, content.strip()) for line, content in enumerate(text.splitlines(), 1) if content.strip())


def _cells(line: str) -> list[str]:
    return next(csv.reader([line]), [])


def _parsed(text: str, path: Path, *, line: int) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise _bad(f"{path}:{line + error.lineno - 1} is not JSON: {error.msg} at column {error.colno}.") from error


def _length(value: Any, where: str) -> int:
    try:
        # A number that another program wrote as 12.0 is 12; 12.5 tokens there are not.
        number = float(value) if not isinstance(value, bool) else float("nan")
    except (TypeError, ValueError, OverflowError):
        number = float("nan")
    if not (number.is_integer() and 1 <= number <= _MOST_TOKENS):
        shown = str(value) if len(str(value)) <= 40 else f"{str(value)[:40]}…"
        raise _bad(f"{where}: {shown!r} is not a number of tokens, a whole number from 1 to {_MOST_TOKENS}.")
    return int(number)


def _bad(detail: str) -> CommandError:
    return command_error(ExitCode.BAD_INPUT, "bad-lengths-file", "Bad lengths file", detail)
