"""What an export holds: columns with types, and rows that come page by page. Each kind of record makes one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import NoneType
from typing import Annotated, Any, Generic, TypeVar, get_args, get_origin

from pydantic.fields import FieldInfo

Row = TypeVar("Row")


class ColumnType(StrEnum):
    """What the cells of a column are, where they are not null."""

    WHOLE = "whole"
    FLOAT = "float"
    """NaN and infinities included."""
    TRUTH = "truth"
    TEXT = "text"
    MOMENT = "moment"
    TEXTS = "texts"
    """A list."""
    FLOATS = "floats"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportColumn:
    """One column of a table."""

    name: str
    type: ColumnType


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportTable(Generic[Row]):
    """Records of one kind, for any format."""

    columns: Sequence[ExportColumn]
    pages: Iterable[Sequence[Row]]
    line: Callable[[Row], bytes]
    """The whole record as JSON on one line."""
    cells: Callable[[Row], Iterable[Sequence[Any]]]
    """Its rows, with one cell for each column."""


_TYPES: dict[Any, ColumnType] = {
    int: ColumnType.WHOLE,
    float: ColumnType.FLOAT,
    bool: ColumnType.TRUTH,
}


def column_of(name: str, field: FieldInfo) -> ExportColumn:
    """The column for a field of a model; what is neither number, truth nor moment is text."""
    known = _known(field.annotation)
    is_moment = "datetime" in getattr(known, "__name__", "").lower()
    return ExportColumn(name=name, type=ColumnType.MOMENT if is_moment else _TYPES.get(known, ColumnType.TEXT))


def _known(annotation: Any) -> Any:
    """The type of a field where it is not null: `int` of `Annotated[int, …] | None`."""
    if get_origin(annotation) is Annotated:
        return get_args(annotation)[0]
    parts = [_known(part) for part in get_args(annotation) if part is not NoneType]
    return parts[0] if len(parts) == 1 else annotation
