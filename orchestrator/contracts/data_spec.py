"""Where prompts come from. A block of the RunSpec."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, PositiveFloat, PositiveInt

from trainer.contracts.text_model import JsonObject, Name, TextModel


class ReasoningGymTask(TextModel):
    """One procedural task of reasoning_gym."""

    name: Name
    """Name of the task in reasoning_gym, e.g. `spell_backward`."""
    weight: PositiveFloat = 1.0
    """How often the task is drawn, relative to the others."""
    config: JsonObject = {}
    """Arguments of the task's own configuration, e.g. `{min_word_len: 4}`."""


class ReasoningGymDataSpec(TextModel):
    """Prompts drawn without end from procedural tasks; the stream depends on the run's seed alone."""

    type: Literal["reasoning_gym"]
    tasks: Annotated[tuple[ReasoningGymTask, ...], Field(min_length=1)]
    """The tasks that prompts are drawn from."""
    rollout_batch_size: PositiveInt
    """Prompts of one iteration."""
    max_prompt_tokens: PositiveInt = 256
    """A longer prompt is left out and counted."""
    lower_case: bool = False
    """Prompts and answers in lower case: fewer symbols for a very small model to learn."""
