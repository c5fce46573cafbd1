"""What the pure modules of batch geometry know of a sample: who it belongs to and how long it is.

Made by the loop from rollouts, read by the batch policy, the scheduler and the loss weights.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleShape:
    """One sample without its tokens."""

    sample_id: str
    rollout_id: str
    """The samples of one rollout stay in one step and share a denominator under `rollout_mean`."""
    group_id: str
    """The prompt; its rollouts share a denominator under `prompt_mean`."""
    num_tokens: int
    num_loss_tokens: int
    """Tokens under the loss mask; 0 for a sample that is masked altogether."""

    def __post_init__(self) -> None:
        if self.num_tokens < 1:
            raise ValueError(f"sample {self.sample_id!r}: num_tokens={self.num_tokens} must be at least 1")
        if not 0 <= self.num_loss_tokens <= self.num_tokens:
            raise ValueError(
                f"sample {self.sample_id!r}: num_loss_tokens={self.num_loss_tokens} must lie between 0 and "
                f"num_tokens={self.num_tokens}"
            )
