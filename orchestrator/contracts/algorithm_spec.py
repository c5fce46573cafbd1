"""Advantages and the policy loss. A block of the RunSpec.

It is flat: the clips of all losses stand side by side, and one that the chosen loss does not read is refused.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal, Self, TypeAlias, TypeVar

from pydantic import Discriminator, Field, PositiveFloat, PositiveInt, Tag, model_validator

from trainer.contracts.certificate import LossAggregation
from trainer.contracts.loss_spec import (
    CispoLossSpec,
    ClippedLossSpec,
    GspoLossSpec,
    IcePopSpec,
    KlEstimator,
    KlTermSpec,
    NonNegativeFloat,
    PolicyLossSpec,
    PythonLossSpec,
    TisSpec,
)
from trainer.contracts.python_function import PythonFunction, name_or_function
from trainer.contracts.text_model import FieldError, NonNegativeFraction, TextModel


class AdvantageEstimator(StrEnum):
    """How rewards become advantages."""

    GRPO = "grpo"
    """Reward minus the group's mean, divided by the group's standard deviation (Shao et al. 2024, section 4.1.2)."""
    DR_GRPO = "dr_grpo"
    """Reward minus the group's mean, undivided (Liu et al. 2025): easy and hard prompts weigh alike."""
    RLOO = "rloo"
    """Reward minus the mean of the group's other rollouts (Ahmadian et al. 2024)."""
    REINFORCE_PP = "reinforce_pp"
    """Reward minus the mean, divided by the standard deviation, of all rollouts of the iteration (Hu 2025)."""
    REINFORCE_PP_BASELINE = "reinforce_pp_baseline"
    """Reward minus the group's mean, divided by the standard deviation over all rollouts of the iteration (Hu 2025)."""


class PolicyLoss(StrEnum):
    """What makes likely tokens of good rollouts likelier."""

    CLIPPED = "clipped"
    """PPO's clipped surrogate, token by token (Schulman et al. 2017)."""
    GSPO = "gspo"
    """The clipped surrogate with one ratio for each sample (Zheng et al. 2025)."""
    CISPO = "cispo"
    """REINFORCE with clipped importance weights, so that no token loses its gradient (MiniMax-M1 2025)."""


class OldLogProbs(StrEnum):
    """Whose log-probs of the generating policy stand below the ratio."""

    ENGINE = "engine"
    """The engine's, as it sampled."""
    TRAINER = "trainer"
    """The trainer's own, by a forward pass over the iteration before its first update."""


class NoKlSpec(TextModel):
    """No distance to a reference."""

    type: Literal["none"] = "none"


class LossKlSpec(TextModel):
    """The distance to the policy at the beginning of reinforcement, added to the loss of every token."""

    type: Literal["loss"]
    estimator: KlEstimator = KlEstimator.K3
    """How it is estimated from the token; as a loss, k1 has no gradient on average."""
    coef: PositiveFloat
    """What it is multiplied by."""


class RewardKlSpec(TextModel):
    """The same distance, summed over a rollout's tokens and taken from its reward before advantages are made.

    Filters and the recorded rewards know nothing of it.
    """

    type: Literal["reward"]
    estimator: KlEstimator = KlEstimator.K1
    """How it is estimated from each token."""
    coef: PositiveFloat
    """What it is multiplied by."""


class NoCorrectionSpec(TextModel):
    """Differences between the engine's and the trainer's log-probs are only shown."""

    type: Literal["none"] = "none"


NameT = TypeVar("NameT")
NameOrFunction: TypeAlias = Annotated[
    Annotated[NameT, Tag("name")] | Annotated[PythonFunction, Tag("function")], Discriminator(name_or_function)
]
KlSpec: TypeAlias = Annotated[NoKlSpec | LossKlSpec | RewardKlSpec, Field(discriminator="type")]
EngineCorrectionSpec: TypeAlias = Annotated[NoCorrectionSpec | TisSpec | IcePopSpec, Field(discriminator="type")]

_TOKEN_CLIPS = ("clip_low", "clip_high")
_SEQUENCE_CLIPS = ("sequence_clip_low", "sequence_clip_high")
_READS: dict[str, tuple[str, ...]] = {
    PolicyLoss.CLIPPED: (*_TOKEN_CLIPS, "dual_clip"),
    PolicyLoss.GSPO: _SEQUENCE_CLIPS,
    PolicyLoss.CISPO: _TOKEN_CLIPS,
    "python": (),
}
"""Which of the clips each loss reads."""


class AlgorithmSpec(TextModel):
    """Advantages and the policy loss."""

    advantage: NameOrFunction[AdvantageEstimator] = AdvantageEstimator.GRPO
    """How rewards become advantages: a name, or `python: module:function` (`orchestrator/rollouts/advantages.py`)."""
    loss: NameOrFunction[PolicyLoss] = PolicyLoss.CLIPPED
    """The policy loss: a name, or `python: module:function` (see `trainer/losses/policy.py`)."""
    clip_low: NonNegativeFraction | None = None
    """A token's ratio is clipped below 1 − clip_low. None: 0.2 under `clipped`, no bound under `cispo`."""
    clip_high: NonNegativeFloat | None = None
    """A token's ratio is clipped above 1 + clip_high. None: 0.28 under `clipped`, 4 under `cispo`."""
    dual_clip: Annotated[float, Field(gt=1.0)] | None = None
    """Under `clipped`, most that a ratio counts where the advantage is negative (Ye et al. 2020); None: no bound."""
    sequence_clip_low: NonNegativeFraction | None = None
    """Under `gspo`, a sample's ratio is clipped below 1 − this. None: 0.0003."""
    sequence_clip_high: NonNegativeFloat | None = None
    """Under `gspo`, a sample's ratio is clipped above 1 + this. None: 0.0004."""
    entropy_coef: NonNegativeFloat = 0.0
    """Bonus for entropy: this times the entropy is taken from the loss of every token."""
    kl: KlSpec = NoKlSpec()
    """The distance to the policy at the beginning of reinforcement, and where it counts."""
    old_log_probs: OldLogProbs = OldLogProbs.ENGINE
    """Whose log-probs stand below the ratio."""
    correction: EngineCorrectionSpec = NoCorrectionSpec()
    """What is done about tokens on which engine and trainer differ; needs `old_log_probs: trainer`."""
    updates_per_iteration: Literal[1] = 1
    """How often the rollouts of an iteration are trained: once."""
    loss_aggregation: LossAggregation = LossAggregation.ROLLOUT_MEAN
    """How the token losses of a step become one number."""
    constant_tokens: PositiveInt | None = None
    """Divisor of `loss_aggregation: constant`; None: rollout.max_new_tokens."""

    @property
    def needs_reference(self) -> bool:
        """Whether log-probs of the frozen reference are wanted."""
        return not isinstance(self.kl, NoKlSpec)

    @property
    def needs_trainer_log_probs(self) -> bool:
        """Whether the trainer recomputes the log-probs of the generating policy."""
        return self.old_log_probs is OldLogProbs.TRAINER

    def policy_loss(self, *, temperature: float) -> PolicyLossSpec:
        """What the trainer is told to optimise. temperature: of sampling."""
        shared = {
            "temperature": temperature,
            "entropy_coef": self.entropy_coef,
            "kl": KlTermSpec(estimator=self.kl.estimator, coef=self.kl.coef)
            if isinstance(self.kl, LossKlSpec)
            else None,
            "correction": None if isinstance(self.correction, NoCorrectionSpec) else self.correction,
        }
        if isinstance(self.loss, PythonFunction):
            return PythonLossSpec.model_validate(shared | {"function": self.loss})
        given = {name.removeprefix("sequence_"): getattr(self, name) for name in _READS[self.loss]}
        clips = {name: value for name, value in given.items() if value is not None}
        return _LOSS_SPECS[self.loss].model_validate(shared | clips)

    @model_validator(mode="after")
    def _clips_fit_the_loss(self) -> Self:
        loss = "python" if isinstance(self.loss, PythonFunction) else self.loss
        reads = _READS[loss]
        for name in (*_TOKEN_CLIPS, "dual_clip", *_SEQUENCE_CLIPS):
            if getattr(self, name) is not None and name not in reads:
                instead = f"it reads {' and '.join(reads)}" if reads else "it gets its settings by arguments"
                raise FieldError(f"loss={loss} does not read {name}; leave it out: {instead}", name, "loss")
        return self

    @model_validator(mode="after")
    def _correction_has_two_sides(self) -> Self:
        if not isinstance(self.correction, NoCorrectionSpec) and not self.needs_trainer_log_probs:
            raise FieldError(
                f"correction={self.correction.type} weighs the trainer's log-probs against the engine's, and "
                "old_log_probs=engine has only the engine's; set old_log_probs to trainer",
                "correction",
                "old_log_probs",
            )
        return self


_LOSS_SPECS: dict[PolicyLoss, type[PolicyLossSpec]] = {
    PolicyLoss.CLIPPED: ClippedLossSpec,
    PolicyLoss.GSPO: GspoLossSpec,
    PolicyLoss.CISPO: CispoLossSpec,
}
