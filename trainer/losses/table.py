"""From the loss that a phase names to the loss of every token.

Weights and denominators are not applied here: `trainer/forward_backward.py` multiplies each token's loss by its
sample's `loss_scale` and divides by the step's own global batch size, the same way for every loss.

To add a loss: write a function of (spec, TokenBatch), add it to `LOSSES`, and its spec to
`trainer/contracts/loss_spec.py`. One outside this repository is a `PythonLossSpec`; see `python_loss`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from trainer.contracts.loss_spec import (
    CispoLossSpec,
    ClippedLossSpec,
    GspoLossSpec,
    LossSpec,
    PolicyLossSpec,
    PythonLossSpec,
    SftLossSpec,
)
from trainer.losses.policy import cispo_loss, clipped_loss, gspo_loss, python_loss
from trainer.losses.terms import with_terms
from trainer.losses.token_batch import TokenBatch, TokenLoss


def token_loss(spec: LossSpec, tokens: TokenBatch) -> TokenLoss:
    """Apply the loss that `spec` names, with all that it adds to the policy loss."""
    result = LOSSES[type(spec)](spec, tokens)
    return with_terms(spec, tokens, result) if isinstance(spec, PolicyLossSpec) else result


def logit_temperature(spec: LossSpec) -> float:
    """What the logits are divided by before the softmax: the sampling temperature, where the loss has one."""
    return spec.temperature if isinstance(spec, PolicyLossSpec) else 1.0


def sft_loss(spec: SftLossSpec, tokens: TokenBatch) -> TokenLoss:  # noqa: ARG001
    """Negative log-likelihood, −log p(token), as supervised starts have it since Ouyang et al. 2022, section 3.5."""
    return TokenLoss(losses=-tokens.log_probs)


LOSSES: Mapping[type, Callable[[Any, TokenBatch], TokenLoss]] = {
    SftLossSpec: sft_loss,
    ClippedLossSpec: clipped_loss,
    GspoLossSpec: gspo_loss,
    CispoLossSpec: cispo_loss,
    PythonLossSpec: python_loss,
}
