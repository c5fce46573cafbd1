"""The distance to a frozen reference, taken from the rewards of rollouts. Pure numpy; the loop calls it.

`trainer/losses/terms.py` has the same estimates as a loss, with gradients.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from trainer.contracts.loss_spec import KlEstimator


def kl_of_rollout(
    estimator: KlEstimator, log_probs: npt.NDArray[np.float32], reference_log_probs: npt.NDArray[np.float32]
) -> float:
    """KL(policy ‖ reference) of a response, in nats: the sum of Schulman's estimates (2020) over its tokens.

    Both [R], of the tokens that the policy drew. With k1 it is log p_policy(response) − log p_reference(response), the
    penalty of RLOO's shaped reward (Ahmadian et al. 2024, section 2).
    """
    log_ratio = reference_log_probs.astype(np.float64) - log_probs
    match estimator:
        case KlEstimator.K1:
            of_tokens = -log_ratio
        case KlEstimator.K2:
            of_tokens = log_ratio**2 / 2
        case KlEstimator.K3:
            of_tokens = np.expm1(log_ratio) - log_ratio
    return float(of_tokens.sum())
