from __future__ import annotations

import cProfile
from collections.abc import Callable

import numpy as np
import pytest

from orchestrator.costs.cost_model import CostModel
from orchestrator.geometry import StepGeometry
from orchestrator.placing.placement import place

COST_MODEL = CostModel(linear=1.0, quadratic=1e-5, overhead=50.0)


def calls_of(work: Callable[[], object]) -> int:
    """Function calls that work makes: unlike its time they are the same on every machine."""
    profile = cProfile.Profile()
    profile.runcall(work)
    return sum(entry.callcount for entry in profile.getstats())


@pytest.mark.parametrize("pp", [1, 2])
@pytest.mark.parametrize("dp_size", [64, 256, 1000])
@pytest.mark.parametrize("values", [[500, 501, 1000, 1001], [950, 951], [100] * 9 + [90], range(18, 30)])
def test_the_work_stays_in_proportion_to_the_samples_however_few_lengths_there_are(
    values: list[int], dp_size: int, pp: int
) -> None:
    lengths = np.random.default_rng(0).choice(values, 4096).tolist()
    geometry = StepGeometry(dp_size=dp_size, token_cap=16_384, pp=pp)
    assert calls_of(lambda: place(lengths, COST_MODEL, geometry)) < 130 * len(lengths)


def test_few_micro_batches_of_thousands_of_samples_are_not_searched_pair_by_pair() -> None:
    lengths = np.random.default_rng(0).integers(5, 15, 8192).tolist()
    geometry = StepGeometry(dp_size=8, token_cap=8192)
    assert calls_of(lambda: place(lengths, COST_MODEL, geometry)) < 60 * len(lengths)
