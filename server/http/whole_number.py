"""Whole numbers in addresses: digits and nothing else, where Python would also read `1_0`, ` 1 ` or `１`."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

from pydantic import BeforeValidator


def _digits(value: Any) -> Any:
    if isinstance(value, str) and not (value.isascii() and value.removeprefix("-").isdigit()):
        raise ValueError(f"{value!r} must be a whole number, written in digits")
    return value


WholeNumber: TypeAlias = Annotated[int, BeforeValidator(_digits)]
"""For path and query parameters, with the bounds that each has."""
