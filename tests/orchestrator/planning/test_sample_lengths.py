import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.contracts.plan import ConstantLengths, ListedLengths, LognormalLengths, RunLengths
from orchestrator.planning.sample_lengths import prepare_lengths
from trainer.contracts.text_model import FieldError


def drawn(lengths: object, longest: int = 1000, count: int = 20_000) -> np.ndarray:
    return prepare_lengths(lengths, longest=longest, run_lengths=None).draw(count, np.random.default_rng(1))  # type: ignore[arg-type]


@given(st.floats(1, 5_000), st.floats(0, 3), st.integers(1, 4_000))
def test_a_declared_mean_is_that_of_what_is_drawn(mean: float, sigma: float, longest: int) -> None:
    asked = LognormalLengths(type="lognormal", mean=mean, sigma=sigma)
    tokens = drawn(asked, longest)
    assert tokens.min() >= 1
    assert tokens.max() <= longest
    told = prepare_lengths(asked, longest=longest, run_lengths=None).mean
    assert tokens.mean() == pytest.approx(told, rel=0.1, abs=0.5)


@pytest.mark.parametrize(
    ("mean", "sigma", "longest"),
    [
        (1, 0.8, 1000),
        (1, 2, 72),
        (2.4, 0.1, 9),
        (2.5, 0.0, 9),
        (50, 5, 100),
        (300, 0.5, 400),
        (60, 0.5, 1),
        (900, 1, 256),
    ],
)
def test_the_mean_knows_that_tokens_are_whole_and_at_least_one(mean: float, sigma: float, longest: int) -> None:
    asked = LognormalLengths(type="lognormal", mean=mean, sigma=sigma)
    told = prepare_lengths(asked, longest=longest, run_lengths=None).mean
    assert told == pytest.approx(drawn(asked, longest, count=1_000_000).mean(), rel=0.003)


def test_without_a_word_on_lengths_half_of_the_longest_is_guessed() -> None:
    guess = prepare_lengths(None, longest=1000, run_lengths=None)
    assert guess.mean == pytest.approx(500, rel=0.05)
    assert "half of the longest" in guess.source


def test_known_lengths_are_drawn_from_and_cut_at_what_the_spec_allows() -> None:
    known = prepare_lengths(ListedLengths(type="list", num_tokens=(5, 7, 3000)), longest=1000, run_lengths=None)
    assert set(known.draw(100, np.random.default_rng(1)).tolist()) == {5, 7, 1000}
    assert known.mean == pytest.approx((5 + 7 + 1000) / 3)


def test_constant_lengths_are_constant() -> None:
    assert set(drawn(ConstantLengths(type="constant", num_tokens=12)).tolist()) == {12}


def test_the_lengths_of_a_run_come_from_the_caller() -> None:
    asked = RunLengths(type="run", run="before")
    assert prepare_lengths(asked, longest=9, run_lengths=[4, 4]).mean == 4
    with pytest.raises(FieldError, match="'before' has no samples") as caught:
        prepare_lengths(asked, longest=9, run_lengths=[])
    assert caught.value.fields == ("lengths.run",)
