"""A list as an answer: pages, catalogues and the like, which all go over their items. Derived from in `schemas.py`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, TypeVar

from trainer.contracts.text_model import TextModel

Item = TypeVar("Item")


class Page(TextModel, Generic[Item]):
    """Some items, and beside them what the subclass says."""

    items: tuple[Item, ...]

    def __iter__(self) -> Iterator[Item]:  # type: ignore[override]
        """The items. A pydantic model would give its fields, which nobody who writes a loop over a page has in mind."""
        return iter(self.items)
