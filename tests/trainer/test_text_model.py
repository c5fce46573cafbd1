from __future__ import annotations

from typing import Any

import pytest
from pydantic import PositiveInt, ValidationError

from trainer.contracts.text_model import TextModel


class Inner(TextModel):
    count: int | None = None


class Outer(TextModel):
    count: PositiveInt
    counts: tuple[int, ...] = ()
    by_name: dict[str, int] = {}
    inner: Inner | None = None
    rate: float = 0.0


@pytest.mark.parametrize("bad", [True, "7", 7.0, "1_0"])
@pytest.mark.parametrize("place", ["count", "counts", "by_name", "inner"])
def test_a_whole_number_is_a_number_and_nothing_that_could_be_read_as_one(place: str, bad: Any) -> None:
    nested = {"count": bad, "counts": [bad], "by_name": {"a": bad}, "inner": {"count": bad}}[place]
    with pytest.raises(ValidationError, match="valid integer"):
        Outer.model_validate({"count": 1} | {place: nested})


def test_whole_numbers_are_taken_and_serve_as_fractions() -> None:
    read = Outer.model_validate_json('{"count": 7, "counts": [0, 1], "by_name": {"a": 2}, "inner": {}, "rate": 3}')
    assert (read.count, read.counts, read.by_name, read.rate) == (7, (0, 1), {"a": 2}, 3.0)
