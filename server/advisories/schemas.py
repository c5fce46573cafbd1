"""What the API says of things that are odd about a run."""

from __future__ import annotations

from enum import StrEnum

from server.page import Page
from trainer.contracts.text_model import TextModel


class AdvisoryKind(StrEnum):
    """What is odd."""

    NON_FINITE = "non_finite"
    """Steps were skipped because loss or gradient was NaN or infinite."""
    EXPLOSION = "explosion"
    """Loss or gradient norm grew to many times what it was."""
    STALL = "stall"
    """No step has ended for long although the run goes on."""
    IDENTICAL_REWARDS = "identical_rewards"
    """All rollouts of an iteration have one reward."""
    NO_SIGNAL = "no_signal"
    """In most groups all rollouts have one reward: nothing is learnt from them."""
    UNSCORABLE = "unscorable"
    """The verifier fails on many rollouts."""
    TRUNCATION = "truncation"
    """Many responses end by length."""
    LOG_PROB_DRIFT = "log_prob_drift"
    """Engine and trainer disagree about the probability of tokens."""
    STALENESS = "staleness"
    """Rollouts are trained long after they were generated."""
    BACKLOG = "backlog"
    """More and more rollouts wait."""
    IDLE = "idle"
    """Ranks wait for each other longer than any schedule has to let them."""
    OVER_CAP = "over_cap"
    """Samples are longer than the token cap."""
    DUMMIES = "dummies"
    """Many micro-batches are empty."""
    PADDING = "padding"
    """Many computed positions hold no token."""
    SLOW_STEP = "slow_step"
    """One step took far longer than the others."""


class Severity(StrEnum):
    """How much it matters."""

    CRITICAL = "critical"
    """The run does not learn, or does not go on."""
    WARNING = "warning"
    """It learns worse or costs more than it could."""
    INFO = "info"
    """Worth a look."""


class AdvisoryTarget(TextModel):
    """Where to look. What is null does not apply."""

    step: int | None = None
    iteration: int | None = None
    rollout_id: str | None = None


class Advisory(TextModel):
    """One thing that is odd, with its evidence."""

    kind: AdvisoryKind
    severity: Severity
    title: str
    evidence: str
    """What was seen, with numbers."""
    advice: str
    """What to do, with the fields to change."""
    value: float
    """The measured number that is odd, and the bound that it is beyond."""
    threshold: float
    target: AdvisoryTarget
    """The worst case."""


class AdvisoryReport(Page[Advisory]):
    """Everything that is odd about the newest steps of a run, the gravest first."""

    first_step: int | None
    """Of those that were looked at; null: the run has no step yet."""
    last_step: int | None
    num_steps: int
