"""What the API says of iterations, their groups and their rollouts."""

from __future__ import annotations

from datetime import datetime

from orchestrator.contracts.rollout_messages import RolloutFate
from server.page import Page
from trainer.contracts.text_model import TextModel

MAX_BEGINNING_CHARS = 400
"""Of a prompt or a response in a list."""
MAX_LISTED_ROLLOUTS = 256
"""Of one group in a list."""


class IterationBooks(TextModel):
    """The books of one iteration: carried in + generated = trained + filtered + dropped + carried out."""

    iteration: int
    attempt: int
    started_at: datetime
    ended_at: datetime
    first_step: int | None
    """None: it trained no step."""
    num_steps: int
    num_refills: int
    """How often it generated again because no group had survived."""
    num_carried_in: int
    num_generated: int
    filtered: dict[str, int]
    """Rollouts by reason."""
    dropped: dict[str, int]
    num_trained: int
    num_carried_out: int
    num_groups: int
    """Generated in this iteration."""
    num_recorded_groups: int
    """Those among them whose rollouts are recorded one by one."""
    num_recorded_rollouts: int
    pruned_at: datetime | None
    """Since when the texts and tokens of its rollouts are not kept any more."""


class IterationPage(Page[IterationBooks]):
    """Iterations in ascending order."""

    next_from: int | None
    """The `from` of the next page; null on the last one."""
    total: int
    """Iterations of the run in the current view, whatever the page."""


class LaterFate(TextModel):
    """What a later iteration made of a rollout that was carried on."""

    iteration: int
    fate: RolloutFate
    reason: str | None
    step: int | None
    """The step that trained it."""
    age: int
    """Iterations that it had waited."""


class RolloutHead(TextModel):
    """A rollout without its tokens."""

    rollout_id: str
    fate: RolloutFate
    """In the iteration that generated it."""
    reason: str | None
    step: int | None
    """The step that trained it, in that iteration."""
    age: int
    later: LaterFate | None
    """What the newest iteration that took it up made of it; null unless it was carried on and taken up."""
    num_tokens: int
    truncated: bool
    reward: float | None
    """Null: unscorable."""
    advantage: float | None
    first_policy_version: int
    last_policy_version: int
    beginning: str | None
    """Of the response; null: not kept any more."""


class RewardSummary(TextModel):
    """The rewards of a group."""

    rewards: tuple[float | None, ...]
    """Of each recorded rollout; null: unscorable."""
    mean: float | None
    std: float | None
    """Over the group, not an estimate of a population's."""
    low: float | None
    high: float | None


class RolloutGroup(TextModel):
    """The rollouts of one prompt."""

    iteration: int
    attempt: int
    group_id: str
    task: str
    num_prompt_tokens: int
    prompt: str | None
    """Its beginning; null: not kept any more."""
    answer: str | None
    """The right one; null: unknown, or not kept any more."""
    kept: bool
    """Whether texts are still there. Retention takes them away first."""
    rewards: RewardSummary
    """Of all its recorded rollouts, whatever the filter."""
    num_matching: int
    """Rollouts that match the filter."""
    rollouts: tuple[RolloutHead, ...]
    """Those that match, at most 256."""


class RecordedPart(TextModel):
    """How much of a run's rollouts is recorded, in the current view."""

    num_iterations: int
    """0: the run told of no iteration yet, or never does."""
    num_groups: int
    """Generated."""
    num_recorded_groups: int
    num_pruned_iterations: int
    """Those whose texts and tokens are not kept any more."""


class RolloutPage(Page[RolloutGroup]):
    """Groups with rollouts that match, the newest iteration first."""

    next_cursor: str | None
    """Null on the last page. One page looks at so much only: it may be empty and yet not be the last."""
    searched_from: int | None
    """The oldest iteration that this page looked at; null: none."""
    recorded: RecordedPart


class SamplePlace(TextModel):
    """Where a sample of a rollout ran."""

    sample_id: str
    index: int
    """Within the step."""
    dp_rank: int
    micro_batch: int
    num_tokens: int
    num_loss_tokens: int
    weight: str
    """Its exact share of the step's loss."""


class RolloutPlace(TextModel):
    """The step that trained a rollout, and where in it."""

    step: int
    attempt: int
    samples: tuple[SamplePlace, ...]
    """Empty: the step's schedule is not kept any more."""


class RolloutDetail(RolloutHead):
    """Everything that is known of one rollout."""

    run_id: str
    attempt: int
    superseded: bool
    """Whether a later attempt ran this iteration again."""
    iteration: int
    group_id: str
    task: str
    num_prompt_tokens: int
    sibling_ids: tuple[str, ...]
    """The recorded rollouts of its group, itself included."""
    kept: bool
    """Whether texts and tokens are still there."""
    pruned_at: datetime | None
    prompt: str | None
    answer: str | None
    text: str | None
    pieces: tuple[str, ...]
    """Text of each recorded token, from the first on."""
    log_probs: tuple[float, ...]
    """Of the engine, for each piece; empty: not recorded."""
    trainer_log_probs: tuple[float, ...]
    place: RolloutPlace | None
    """Null: no step trained it, or that step is not recorded."""
