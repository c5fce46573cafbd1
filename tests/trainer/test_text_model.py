from __future__ import annotations

from typing import Any

import pytest
from pydantic import PositiveInt, ValidationError

from trainer.contracts.text_model import MAX_NESTING, JsonObject, TextModel


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


class Free(TextModel):
    data: JsonObject = {}


@pytest.mark.parametrize("inner", [lambda value: {"a": value}, lambda value: [{}, value, 1.0]])
def test_json_that_its_writer_chose_is_read_to_a_depth_that_can_be_written_again(inner: Any) -> None:
    value: Any = []
    for _ in range(MAX_NESTING - 2):
        value = inner(value)
    assert Free.model_validate({"data": {"a": value}}).model_dump_json()
    with pytest.raises(ValidationError, match="more than 100 deep"):
        Free.model_validate({"data": {"a": inner(value)}})
