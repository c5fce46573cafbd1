"""Supervised steps before reinforcement. A block of the RunSpec."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, PositiveInt

from orchestrator.contracts.batch_spec import FixedBatchSpec
from trainer.contracts.optimizer_spec import OptimizerSpec
from trainer.contracts.text_model import TextModel


class SftWarmStartSpec(TextModel):
    """Supervised steps on the task's own answers before reinforcement begins. They end by reward, not by count."""

    type: Literal["sft"]
    max_steps: PositiveInt
    """The warm start ends here even if the reward was not reached."""
    until_reward: Annotated[float, Field(gt=0.0, le=1.0)]
    """Mean reward of greedy answers to held-out prompts at which the warm start ends."""
    eval_every: PositiveInt = 10
    """Steps between two measurements of that reward."""
    eval_prompts: PositiveInt = 128
    """Held-out prompts of one measurement."""
    batch: FixedBatchSpec
    """Size of the supervised steps."""
    optimizer: OptimizerSpec | None = None
    """None: the run's own optimizer. Reinforcement begins with a fresh optimizer either way."""
