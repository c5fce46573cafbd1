"""The losses that a phase may optimise, told apart by `type`, and what a policy loss may have added to it.

loss_t = correction_t · policy_t + kl.coef · kl_t − entropy_coef · entropy_t
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal, Self, TypeAlias

from pydantic import Field, PositiveFloat, model_validator

from trainer.contracts.python_function import PythonFunction
from trainer.contracts.text_model import FieldError, NonNegativeFraction, TextModel

NonNegativeFloat: TypeAlias = Annotated[float, Field(ge=0.0)]


class KlEstimator(StrEnum):
    """Schulman's approximations (2020) of KL(policy ‖ reference) from one token, with r = p_reference / p_policy."""

    K1 = "k1"
    """−log r: unbiased, of either sign. As a loss it has no gradient on average; in the reward it is right."""
    K2 = "k2"
    """½ (log r)²: biased, never negative. As a loss its gradient is that of the KL divergence."""
    K3 = "k3"
    """r − 1 − log r: unbiased, never negative, of low variance."""


class KlTermSpec(TextModel):
    """The distance to the frozen reference, added to the loss of every token."""

    estimator: KlEstimator = KlEstimator.K3
    """How it is estimated."""
    coef: PositiveFloat
    """What it is multiplied by."""


class TisSpec(TextModel):
    """Truncated importance sampling: a token's policy loss weighs min(p_trainer / p_engine, cap) (Yao et al. 2025)."""

    type: Literal["tis"]
    cap: PositiveFloat = 2.0
    """Largest weight of a token."""


class IcePopSpec(TextModel):
    """As importance sampling, but tokens whose weight leaves a band are left out (IcePop, Ling team 2025)."""

    type: Literal["icepop"]
    low: PositiveFloat = 0.5
    """A token whose p_trainer / p_engine is below it has no policy loss."""
    high: PositiveFloat = 5.0
    """A token whose p_trainer / p_engine is above it has no policy loss."""

    @model_validator(mode="after")
    def _band_is_not_empty(self) -> Self:
        if self.low > self.high:
            raise FieldError(f"low={self.low} must be at most high={self.high}", "low", "high")
        return self


CorrectionSpec: TypeAlias = Annotated[TisSpec | IcePopSpec, Field(discriminator="type")]


class SftLossSpec(TextModel):
    """Negative log-likelihood of the tokens under the loss mask."""

    type: Literal["sft"] = "sft"


class PolicyLossSpec(TextModel):
    """What all losses of rollouts share."""

    temperature: PositiveFloat = 1.0
    """Logits are divided by it, as the engine did when it sampled; otherwise the two log-probs could not agree."""
    entropy_coef: NonNegativeFloat = 0.0
    """Bonus for entropy: this times the entropy is taken from the loss of every token."""
    kl: KlTermSpec | None = None
    """None: no distance to a reference in the loss."""
    correction: CorrectionSpec | None = None
    """What is done about differences between the engine's log-probs and the trainer's; None: nothing."""


class ClippedLossSpec(PolicyLossSpec):
    """PPO's clipped surrogate (Schulman et al. 2017, eq. 7), with DAPO's clip-higher and the dual clip."""

    type: Literal["clipped"] = "clipped"
    clip_low: NonNegativeFraction = 0.2
    """The probability ratio is clipped below 1 − clip_low."""
    clip_high: NonNegativeFloat = 0.28
    """The probability ratio is clipped above 1 + clip_high (DAPO, Yu et al. 2025, section 3.1)."""
    dual_clip: Annotated[float, Field(gt=1.0)] | None = None
    """Where the advantage is negative, the ratio counts at most so much (Ye et al. 2020); None: unbounded."""


class GspoLossSpec(PolicyLossSpec):
    """Clipped surrogate with one ratio for each sample (GSPO, Zheng et al. 2025)."""

    type: Literal["gspo"] = "gspo"
    clip_low: NonNegativeFraction = 3e-4
    """The sample's ratio is clipped below 1 − clip_low."""
    clip_high: NonNegativeFloat = 4e-4
    """The sample's ratio is clipped above 1 + clip_high."""


class CispoLossSpec(PolicyLossSpec):
    """REINFORCE with clipped importance weights (CISPO, MiniMax-M1 2025): no token loses its gradient."""

    type: Literal["cispo"] = "cispo"
    clip_low: NonNegativeFraction | None = None
    """The weight is at least 1 − clip_low; None: no lower bound."""
    clip_high: NonNegativeFloat = 4.0
    """The weight is at most 1 + clip_high."""


class PythonLossSpec(PolicyLossSpec):
    """A user's own policy loss; `trainer/losses/table.py` says what the function gets and gives."""

    type: Literal["python"] = "python"
    function: PythonFunction
    """The function."""


LossSpec: TypeAlias = Annotated[
    SftLossSpec | ClippedLossSpec | GspoLossSpec | CispoLossSpec | PythonLossSpec, Field(discriminator="type")
]
