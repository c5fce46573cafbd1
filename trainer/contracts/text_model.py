"""The base of everything that crosses a text edge (YAML, JSON, HTTP, database JSON), and its cross-field error."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, GetCoreSchemaHandler
from pydantic_core import CoreSchema

Name: TypeAlias = Annotated[str, Field(min_length=1, max_length=200, pattern=r"\S")]
NonNegativeFraction: TypeAlias = Annotated[float, Field(ge=0.0, lt=1.0)]
MAX_NESTING = 100
"""Objects and lists within each other. What was read must be written again, and writers of JSON end at about 250."""


def refuse_deep(value: dict[str, Any]) -> dict[str, Any]:
    """The same, when it is at most MAX_NESTING deep; for fields whose JSON their writer chose. Raises ValueError."""
    level: list[Any] = [value]
    for _ in range(MAX_NESTING):
        parts = [part.values() if isinstance(part, dict) else part for part in level]
        level = [inner for part in parts for inner in part if isinstance(inner, dict | list | tuple)]
        if not level:
            return value
    raise ValueError(f"holds objects or lists more than {MAX_NESTING} deep; write them flatter")


JsonObject: TypeAlias = Annotated[dict[str, Any], AfterValidator(refuse_deep)]
"""JSON that its writer chose: only its depth is bounded."""


def _make_integers_strict(part: Any) -> None:
    if isinstance(part, dict):
        if part.get("type") == "int":
            part["strict"] = True
        for value in part.values():
            _make_integers_strict(value)
    elif isinstance(part, list):
        for value in part:
            _make_integers_strict(value)


class TextModel(BaseModel):
    """A frozen record that refuses unknown fields, so that a typing error in a file is told, not ignored."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        # A spec says `nan` or `inf` only by mistake; measured values travel as `Metric`, which can hold them.
        allow_inf_nan=False,
        # Docstrings under fields become the descriptions in the OpenAPI document and the JSON schema.
        use_attribute_docstrings=True,
    )

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Make whole numbers strict: `true` is not 1, and `"7"` is not 7."""
        schema = handler(source)
        _make_integers_strict(schema)
        return schema


class FieldError(ValueError):
    """Fields that are right one by one and wrong together. Pydantic keeps it as the error's `ctx["error"]`.

    `fields` are dotted paths from the model whose validator raised it: `FieldError("...", "tp", "model.num_layers")`.
    """

    def __init__(self, message: str, *fields: str) -> None:
        super().__init__(message)
        self.fields = fields

    def __reduce__(self) -> tuple[type[FieldError], tuple[str, ...]]:
        return FieldError, (str(self), *self.fields)
