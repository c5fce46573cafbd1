from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.rollouts.kl_penalty import kl_of_rollout
from trainer.contracts.loss_spec import KlEstimator
from trainer.losses.terms import kl_estimate

LOG_PROBS = st.lists(st.tuples(st.floats(-9, 0), st.floats(-9, 0)), max_size=8)


@pytest.mark.parametrize("estimator", KlEstimator)
@given(pairs=LOG_PROBS)
def test_it_is_the_sum_of_what_the_loss_estimates_for_each_token(
    estimator: KlEstimator, pairs: list[tuple[float, float]]
) -> None:
    policy, reference = (np.array([pair[k] for pair in pairs], dtype=np.float32) for k in range(2))
    of_tokens = kl_estimate(estimator, torch.from_numpy(policy).double(), torch.from_numpy(reference).double())
    assert kl_of_rollout(estimator, policy, reference) == pytest.approx(float(of_tokens.sum()), rel=1e-9, abs=1e-9)


def test_k1_is_the_log_ratio_of_the_whole_response() -> None:
    policy, reference = (np.log(np.array(probs, dtype=np.float32)) for probs in ([0.5, 0.5], [0.25, 0.5]))
    assert kl_of_rollout(KlEstimator.K1, policy, reference) == pytest.approx(np.log(2), rel=1e-6)
