from __future__ import annotations

import pytest

from orchestrator.reporting.stall import PhaseTimes, StallRule, suspects
from tests.orchestrator.factories import case

STALL = case("operations", "stall")
RULE = StallRule(floor_s=STALL["given"]["floor_s"], factor=STALL["given"]["factor"])
IN_COLLECTIVE = '  File "torch/distributed/distributed_c10d.py", line 3 in all_reduce\n  File "x.py", line 1 in train'
AT_WORK = '  File "model.py", line 9 in forward'


def times(*seconds: float, rule: StallRule = RULE) -> PhaseTimes:
    known = PhaseTimes(rule)
    for one in seconds:
        known.close("train", one)
    return known


@pytest.mark.parametrize(("open_s", "expected"), list(zip(STALL["given"]["open_s"], STALL["expect"], strict=True)))
def test_a_phase_stalls_when_it_is_open_far_longer_than_it_takes(open_s: float, expected: str) -> None:
    typical = STALL["given"]["median_phase_s"]
    stall = times(typical - 1, typical, typical + 5).stall("train", open_s)
    assert ("no alarm" if stall is None else "stalled") == expected
    if stall is not None:
        assert (stall.phase, stall.open_s, stall.median_s, stall.threshold_s) == ("train", open_s, 10, 60)


def test_nothing_is_said_before_three_phases_have_ended() -> None:
    assert times(1.0, 1.0).stall("train", 10_000) is None
    assert times(1.0, 1.0, 1.0).stall("train", 10_000) is not None


def test_short_phases_are_judged_by_the_floor_and_each_kind_by_its_own() -> None:
    known = times(0.1, 0.1, 0.1)
    assert known.stall("train", 29) is None
    assert known.stall("train", 31) is not None
    assert known.stall("generate", 10_000) is None


def test_old_phases_are_forgotten() -> None:
    known = times(*[100.0] * 200, *[10.0] * 60)
    assert known.stall("train", 70) is not None


@pytest.mark.parametrize(
    ("stacks", "named"),
    [
        ({"rank 0": IN_COLLECTIVE, "rank 1": AT_WORK}, ["rank 1"]),
        ({"rank 0": IN_COLLECTIVE, "rank 1": None}, ["rank 1"]),
        ({"rank 0": IN_COLLECTIVE, "rank 1": IN_COLLECTIVE}, ["rank 0", "rank 1"]),
        ({"engine 0": AT_WORK}, ["engine 0"]),
    ],
)
def test_who_is_waited_for_is_named(stacks: dict[str, str | None], named: list[str]) -> None:
    assert list(suspects(stacks)) == named
