from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.reference_packers import arrival_first_fit
from orchestrator.placing.packing import first_fit, first_fit_decreasing
from tests.orchestrator.factories import case


def searched_first_fit_decreasing(lengths: Sequence[int], token_cap: int) -> list[list[int]]:
    """The textbook's: each sample, longest first, into the first micro-batch with room, found by looking at all."""
    micro_batches: list[list[int]] = []
    rooms: list[int] = []
    for sample in sorted(range(len(lengths)), key=lambda sample: -lengths[sample]):
        for k, room in enumerate(rooms):
            if lengths[sample] <= room:
                micro_batches[k].append(sample)
                rooms[k] -= lengths[sample]
                break
        else:
            micro_batches.append([sample])
            rooms.append(token_cap - lengths[sample])
    return micro_batches


@given(st.lists(st.integers(1, 30) | st.integers(1, 1000), max_size=80), st.integers(1, 60) | st.integers(1, 2000))
def test_packs_exactly_as_the_textbook_does(lengths: list[int], token_cap: int) -> None:
    assert first_fit_decreasing(lengths, token_cap) == searched_first_fit_decreasing(lengths, token_cap)


def test_finds_the_optimum_where_arrival_order_does_not() -> None:
    packer_quality = case("schedule", "packer-quality")
    given_, expect = packer_quality["given"], packer_quality["expect"]
    assert len(first_fit_decreasing(given_["lengths"], given_["token_cap"])) == expect["micro_batches"]


def test_a_sample_above_the_cap_lands_alone() -> None:
    assert first_fit_decreasing([15, 3, 3, 3], 10) == [[0], [1, 2, 3]]


@pytest.mark.parametrize("length", [9, 10])
def test_a_sample_at_the_cap_fits(length: int) -> None:
    assert first_fit_decreasing([length, 10 - length], 10)[0][0] == 0


def test_nothing_packs_into_nothing() -> None:
    assert first_fit_decreasing([], 10) == first_fit([], 10) == []


@given(st.lists(st.integers(1, 30) | st.integers(1, 1000), max_size=80), st.integers(1, 60) | st.integers(1, 2000))
def test_arrival_order_is_packed_as_by_looking_at_all(lengths: list[int], cap: int) -> None:
    assert first_fit(lengths, cap) == arrival_first_fit(lengths, cap)
