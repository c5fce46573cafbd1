"""Where in a spec a field belongs that was written somewhere else. The RunSpec's validator asks it; pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError

_MAX_NAMED = 3


@cache
def field_places(model: type[BaseModel]) -> Mapping[str, tuple[str, ...]]:
    """Field name → every dotted path at which the model has such a field; `0` stands for any entry of a list."""
    places: dict[str, dict[str, None]] = defaultdict(dict)
    for path in _paths(model):
        places[path[-1]][".".join(path)] = None
    return {name: tuple(found) for name, found in places.items()}


def with_places(error: ValidationError, model: type[BaseModel]) -> ValidationError:
    """The same errors; an unknown field whose name the model has elsewhere names that place."""
    lines = [_line(each, model) for each in error.errors(include_url=False)]
    if not any(isinstance(line["type"], PydanticCustomError) for line in lines):
        return error
    return ValidationError.from_exception_data(error.title, lines)


def _line(error: Any, model: type[BaseModel]) -> InitErrorDetails:
    kind, loc, value = error["type"], error["loc"], error["input"]
    if kind == "extra_forbidden" and (place := _elsewhere(loc, model)):
        kind = PydanticCustomError("misplaced_field", "unknown field; the spec has it as {place}", {"place": place})
        return InitErrorDetails(type=kind, loc=loc, input=value)
    return InitErrorDetails(type=kind, loc=loc, input=value, ctx=error.get("ctx", {}))


def _elsewhere(loc: tuple[str | int, ...], model: type[BaseModel]) -> str:
    """`limits.max_restarts`, or a few of them; empty where none is meant clearly."""
    places = field_places(model).get(str(loc[-1]), ())
    # A field of another type of the block that it stands in is in no wrong place.
    if len(places) > _MAX_NAMED or any(_is_at(place.split("."), loc) for place in places):
        return ""
    return " and ".join(places)


def _is_at(place: list[str], loc: tuple[str | int, ...]) -> bool:
    """Whether a location, which also names the chosen types of blocks, is within this place's block."""
    parts = iter("0" if isinstance(part, int) else part for part in loc)
    return place[0] == loc[0] and all(part in parts for part in place)


def _paths(model: type[BaseModel], within: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for name, field in model.model_fields.items():
        yield (*within, name)
        for inner, entry in _models(field.annotation):
            yield from _paths(inner, (*within, name, *entry))


def _models(annotation: Any, entry: tuple[str, ...] = ()) -> Iterator[tuple[type[BaseModel], tuple[str, ...]]]:
    """The models that an annotation allows, and the step into a list that leads to each."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation, entry
        return
    into = ("0",) if getattr(annotation, "__origin__", None) in (tuple, list) else ()
    for part in get_args(annotation):
        yield from _models(part, (*entry, *into))
