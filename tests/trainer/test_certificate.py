from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainer.contracts.certificate import Certificate, LossAggregation


def certificate(weights, aggregation=LossAggregation.TOKEN_MEAN, ids=None):
    ids = ids or [f"s{i}" for i in range(len(weights))]
    return Certificate(
        loss_aggregation=aggregation, sample_ids=tuple(ids), weights=tuple(Fraction(weight) for weight in weights)
    )


def test_weights_that_sum_to_one_hold():
    assert certificate([Fraction(1, 3), Fraction(2, 3)]).problem() is None


def test_sum_is_exact_where_floats_would_round():
    assert certificate([Fraction(1, 10)] * 10).total == 1
    assert sum([0.1] * 10) != 1
    assert "sum to 9/10" in certificate([Fraction(1, 10)] * 9).problem()


@given(st.lists(st.fractions(0, 5), max_size=20))
def test_sum_in_pairs_is_the_plain_sum(weights):
    assert certificate(weights).total == sum(weights)


def test_a_wrong_sum_of_unlike_denominators_is_told_in_few_digits():
    problem = certificate([Fraction(1, 10**6 + i) for i in range(2000)]).problem()
    assert problem.startswith("the weights sum to about 0.00199")
    assert len(problem) < 100


def test_step_without_loss_tokens_holds():
    assert certificate([0, 0]).problem() is None


def test_constant_aggregation_may_have_any_total():
    assert certificate([Fraction(1, 7)], LossAggregation.CONSTANT).problem() is None


def test_negative_weight_is_a_problem():
    assert certificate([Fraction(3, 2), Fraction(-1, 2)]).problem() == "a weight is negative"


def test_every_sample_has_one_weight():
    with pytest.raises(ValueError, match="2 sample_ids but 1 weights"):
        certificate([1], ids=["a", "b"])
    with pytest.raises(ValueError, match="twice"):
        certificate([0, 1], ids=["a", "a"])


pairs = st.dictionaries(st.text(min_size=1, max_size=6), st.fractions(0, 1), min_size=1, max_size=8)


@given(weights=pairs, data=st.data())
def test_hash_depends_on_samples_and_weights_but_not_on_their_order(weights, data):
    items = list(weights.items())
    shuffled = data.draw(st.permutations(items))
    one, other = (certificate([w for _, w in side], ids=[i for i, _ in side]) for side in (items, shuffled))
    assert one.sha256 == other.sha256
    changed = [(items[0][0], items[0][1] + 1), *items[1:]]
    assert certificate([w for _, w in changed], ids=[i for i, _ in changed]).sha256 != one.sha256
    aggregation = LossAggregation.SAMPLE_MEAN
    assert certificate([w for _, w in items], aggregation, [i for i, _ in items]).sha256 != one.sha256
