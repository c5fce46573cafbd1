"""What the live stream says. Each event has an id `epoch-sequence` to resume from.

event: run     data: RunSummary      a run was made or changed
event: steps   data: StepsFrame      steps of a run were recorded
event: resync  data: {}              what was missed is no longer known: ask the API again

These say only that there is something to ask for, at most once per run and frame:
event: event       data: EventNews       the run has new events
event: logs        data: LogNews         its processes wrote lines
event: iteration   data: IterationNews   the books of an iteration, and rollouts, were recorded
event: checkpoint  data: CheckpointNews  a checkpoint was committed or removed
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from orchestrator.contracts.messages import NonFinite
from server.runs.schemas import RunSummary
from trainer.contracts.text_model import TextModel


class StepsFrame(TextModel):
    """Steps that were just recorded, in columns of equal length, to be appended to what is drawn."""

    run: str
    attempt: int
    step: tuple[int, ...]
    samples: tuple[float, ...]
    tokens: tuple[float | None, ...]
    """Null: not every step up to there tells its tokens."""
    time: tuple[float, ...]
    relative: tuple[float, ...]
    metrics: dict[str, tuple[float | NonFinite | None, ...]]
    """By name, `global_batch_size` and the other counts included; null: not measured at that step."""


class EventNews(TextModel):
    """A run has new events."""

    run: str
    up_to: int
    """Id of the newest."""


class LogNews(TextModel):
    """Processes of a run wrote lines."""

    run: str
    up_to: int
    """Id of the newest."""
    num_lines: int


class IterationNews(TextModel):
    """Iterations of a run were recorded, with their rollouts."""

    run: str
    attempt: int
    iteration: int
    """The last of them."""


class CheckpointNews(TextModel):
    """Checkpoints of a run were committed or removed."""

    run: str
    attempt: int
    step: int
    """Of the last of them."""


News: TypeAlias = EventNews | LogNews | IterationNews | CheckpointNews


class RunEvent(TextModel):
    """A run was made or changed."""

    event: Literal["run"]
    data: RunSummary


class StepsEvent(TextModel):
    """Steps of a run were recorded."""

    event: Literal["steps"]
    data: StepsFrame


class ResyncEvent(TextModel):
    """What was missed is no longer known: ask the API again."""

    event: Literal["resync"]
    data: dict[str, str]
    """Empty."""


class EventNewsEvent(TextModel):
    """A run has new events: ask for them."""

    event: Literal["event"]
    data: EventNews


class LogNewsEvent(TextModel):
    """Processes of a run wrote lines: ask for them."""

    event: Literal["logs"]
    data: LogNews


class IterationNewsEvent(TextModel):
    """Iterations of a run were recorded: ask for them."""

    event: Literal["iteration"]
    data: IterationNews


class CheckpointNewsEvent(TextModel):
    """Checkpoints of a run were committed or removed: ask for them."""

    event: Literal["checkpoint"]
    data: CheckpointNews


LiveEvent: TypeAlias = Annotated[
    RunEvent | StepsEvent | ResyncEvent | EventNewsEvent | LogNewsEvent | IterationNewsEvent | CheckpointNewsEvent,
    Field(discriminator="event"),
]


class LivePage(TextModel):
    """What came since a cursor, as a poll tells it."""

    cursor: str
    """Where to go on: an id as the stream gives them."""
    events: tuple[LiveEvent, ...]
    """Empty: nothing came within the time."""
