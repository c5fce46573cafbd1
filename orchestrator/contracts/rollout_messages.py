"""What a driver tells of an iteration: its books, and the rollouts behind them.

    RolloutsBatch    driver → POST /api/v1/runs/{id}/rollouts:batch

The books count every rollout; the groups may be a part of them (`RecordingSpec`). Both are told once an iteration has
trained its last step, so that each rollout comes with its fate.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Self

from pydantic import AwareDatetime, Field, NonNegativeInt, PositiveInt, model_validator

from orchestrator.contracts.messages import StepNumber
from trainer.contracts.text_model import FieldError, Name, TextModel

MAX_TEXT_CHARS = 100_000


class RolloutFate(StrEnum):
    """What became of a rollout. Each has exactly one place in the books."""

    TRAINED = "trained"
    """In the step that is named beside it."""
    FILTERED = "filtered"
    """Left out before steps were cut; the reason says why."""
    DROPPED = "dropped"
    """Left over after steps were cut, and given up; the reason says why."""
    CARRIED = "carried"
    """Left over, and kept for the next iteration. A later iteration tells what came of it."""


class FateMessage(TextModel):
    """What became of a rollout that an earlier iteration generated and carried on."""

    rollout_id: Name
    fate: RolloutFate
    reason: Annotated[str, Field(max_length=200)] | None = None
    step: StepNumber | None = None
    """The step that trained it."""
    age: NonNegativeInt = 0
    """Iterations that it has waited so far."""


class RolloutMessage(FateMessage):
    """One response to a prompt, judged."""

    text: Annotated[str, Field(max_length=MAX_TEXT_CHARS)]
    """The response, cut at so many characters."""
    num_tokens: NonNegativeInt
    """Of the response, the end of sequence included."""
    truncated: bool
    """It ended by length."""
    reward: float | None
    """None: unscorable, because the verifier failed."""
    advantage: float | None
    """None: it was not trained."""
    first_policy_version: NonNegativeInt
    """Of its first token."""
    last_policy_version: NonNegativeInt
    """Of its last token."""
    pieces: tuple[str, ...] = ()
    """Text of each token, from the first on; empty where the tokens are not recorded."""
    log_probs: tuple[float, ...] = ()
    """Of the engine, for each piece."""
    trainer_log_probs: tuple[float, ...] = ()
    """Of the trainer before the step, for each piece; empty where nobody computed them."""

    @model_validator(mode="after")
    def _equally_long(self) -> Self:
        for name in ("log_probs", "trainer_log_probs"):
            if len(getattr(self, name)) not in (0, len(self.pieces)):
                raise FieldError(f"{name} has {len(getattr(self, name))} entries, pieces has {len(self.pieces)}", name)
        return self


class GroupMessage(TextModel):
    """The rollouts of one prompt."""

    group_id: Name
    task: Annotated[str, Field(max_length=200)]
    prompt: Annotated[str, Field(max_length=MAX_TEXT_CHARS)]
    answer: Annotated[str, Field(max_length=MAX_TEXT_CHARS)] | None = None
    """The right one, where the data has one."""
    num_prompt_tokens: NonNegativeInt
    rollouts: Annotated[tuple[RolloutMessage, ...], Field(min_length=1, max_length=10_000)]


class IterationMessage(TextModel):
    """One round of generate and train: the books of its rollouts, and those that are recorded.

    The books balance: carried in + generated = trained + filtered + dropped + carried out.
    """

    iteration: NonNegativeInt
    started_at: AwareDatetime
    ended_at: AwareDatetime
    first_step: StepNumber | None
    """None: it trained no step."""
    num_steps: NonNegativeInt
    num_refills: NonNegativeInt
    """How often it generated again because no group had survived."""
    num_carried_in: NonNegativeInt
    num_generated: NonNegativeInt
    filtered: dict[Name, PositiveInt]
    """Rollouts by reason, e.g. `zero_variance`."""
    dropped: dict[Name, PositiveInt]
    """Rollouts by reason, e.g. `remainder`."""
    num_trained: NonNegativeInt
    num_carried_out: NonNegativeInt
    num_groups: NonNegativeInt
    """Generated in this iteration; at most so many are recorded."""
    groups: tuple[GroupMessage, ...]
    waited: tuple[FateMessage, ...] = ()
    """Recorded rollouts of earlier iterations that this one took up."""

    @model_validator(mode="after")
    def _books_balance(self) -> Self:
        comes_in = self.num_carried_in + self.num_generated
        left_out = sum(self.filtered.values()) + sum(self.dropped.values())
        goes_out = self.num_trained + left_out + self.num_carried_out
        if comes_in != goes_out:
            raise FieldError(
                f"{comes_in} rollouts come in (carried in, generated) and {goes_out} go out "
                "(trained, filtered, dropped, carried out)",
                "num_trained",
            )
        return self


class RolloutsBatch(TextModel):
    """Iterations of one attempt, taken all or none."""

    attempt: PositiveInt
    iterations: Annotated[tuple[IterationMessage, ...], Field(min_length=1, max_length=100)]
