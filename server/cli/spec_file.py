"""Reading a RunSpec from YAML without judging it: that is the server's part. Knows the line of every field."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from server.cli.problem import CommandError, ExitCode, command_error


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecFile:
    """What a file says, with the changes of `--set`."""

    path: Path
    spec: dict[str, Any]
    lines: dict[str, int] = field(repr=False)
    """JSON pointer → line in the file, counted from 1."""
    changed: dict[str, str] = field(default_factory=dict)
    """JSON pointer → the `--set` that put it there."""

    def place(self, pointer: str) -> str:
        """Where a field, or the nearest one around it, was written: `run.yaml:12` or `--set batch.type=all`."""
        while pointer not in self.lines and pointer not in self.changed and pointer:
            pointer = pointer.rpartition("/")[0]
        return self.changed.get(pointer) or f"{self.path}:{self.lines.get(pointer, 1)}"


def read_spec_file(path: Path, changes: Iterable[str] = ()) -> SpecFile:
    """Read a file and change values by `path.to.field=value`, the value being YAML.

    Raises CommandError (bad input) when the file is missing, is no YAML mapping, says a field twice, or holds what JSON
    cannot.
    """
    try:
        text = path.read_text(encoding="utf8")
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        spec = yaml.safe_load(text)
    except FileNotFoundError:
        raise _bad(f"There is no file {path}.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise _bad(f"{path} cannot be read: {error}") from error
    except yaml.YAMLError as error:
        raise _bad(_not_yaml(path, error)) from error
    if root is None or not isinstance(spec, dict):
        raise _bad(f"{path} must hold the fields of a RunSpec, such as `name: my-run`.")
    made = [change_spec(spec, change) for change in changes]
    _check_json(spec, path)
    lines, changed = dict(_lines(root, "", str(path))), dict[str, str]()
    for pointer, told in made:
        # What the file, or an earlier change, says within the value is no longer there.
        _forget(lines, pointer)
        _forget(changed, pointer)
        changed[pointer] = told
    return SpecFile(path=path, spec=spec, lines=lines, changed=changed)


def _not_yaml(path: Path, error: yaml.YAMLError) -> str:
    """Where it is not, in the words of the parser, which does not know the file's name."""
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        told = ", ".join(part for part in (error.context, error.problem) if part)
        return f"{path}:{error.problem_mark.line + 1} is not YAML: {told}."
    return f"{path} is not YAML: {error}"


def _forget(places: dict[str, Any], pointer: str) -> None:
    for place in [place for place in places if place == pointer or place.startswith(f"{pointer}/")]:
        del places[place]


def _lines(node: yaml.Node | None, pointer: str, source: str) -> Iterator[tuple[str, int]]:
    """JSON pointer and line of every part. source: what the text is called in a complaint."""
    if node is not None and not pointer:
        yield "", node.start_mark.line + 1
    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            line = key.start_mark.line + 1
            if key.value in seen:
                raise _bad(f"{source}:{line} says {key.value!r} for the second time.")
            seen.add(key.value)
            child = f"{pointer}/{_escaped(str(key.value))}"
            yield child, line
            yield from _lines(value, child, source)
    elif isinstance(node, yaml.SequenceNode):
        for k, value in enumerate(node.value):
            yield f"{pointer}/{k}", value.start_mark.line + 1
            yield from _lines(value, f"{pointer}/{k}", source)


def change_spec(spec: dict[str, Any], change: str) -> tuple[str, str]:
    """Put a value in its place, by `path.to.field=value`; returns its JSON pointer, and the `--set` that put it there.

    Raises CommandError (bad input) where there is no such place.
    """
    name, equals, text = change.partition("=")
    if not equals or not name:
        raise _bad(f"--set {change}: write it as path.to.field=value, for example --set batch.type=all.")
    try:
        value = yaml.safe_load(text)
        for _ in _lines(yaml.compose(text, Loader=yaml.SafeLoader), "", f"--set {change}"):
            pass  # only to find a key that is said twice
    except yaml.YAMLError as error:
        raise _bad(f"--set {change}: the value is not YAML: {error}") from error
    *parents, last = name.split(".")
    here: Any = spec
    for part in parents:
        here = _child(here, part, change)
    if isinstance(here, list):
        here[_index(here, last, change)] = value
    elif isinstance(here, dict):
        here[last] = value
    else:
        raise _bad(f"--set {change}: what {last!r} should be in is a single value.")
    return "/" + "/".join(map(_escaped, (*parents, last))), f"--set {change}"


def _child(here: Any, part: str, change: str) -> Any:
    if isinstance(here, list):
        return here[_index(here, part, change)]
    if isinstance(here, dict):
        if here.get(part) is None:
            here[part] = {}
        return here[part]
    raise _bad(f"--set {change}: {part!r} is in a single value, not in a block.")


def _index(here: list[Any], part: str, change: str) -> int:
    if part.isdigit() and int(part) < len(here):
        return int(part)
    raise _bad(f"--set {change}: {part!r} must be a number below {len(here)}, the length of that list.")


def _check_json(spec: dict[str, Any], path: Path) -> None:
    try:
        json.dumps(spec, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise _bad(f"{path} holds what JSON does not have: {error}. Put texts such as dates in quotes.") from None


def _escaped(part: str) -> str:
    return part.replace("~", "~0").replace("/", "~1")


def _bad(detail: str) -> CommandError:
    return command_error(ExitCode.BAD_INPUT, "bad-spec-file", "Bad spec file", detail)
