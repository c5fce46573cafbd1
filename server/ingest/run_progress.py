"""What a run's row keeps of its steps, so that lists need no others: count, newest step, sparkline of batch sizes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from sqlalchemy import Connection, select

from orchestrator.contracts.messages import NonFinite, StepMessage
from server.database.tables import steps
from server.ingest.open_run import OpenRun
from server.ingest.prepared_step import PreparedStep
from server.runs.schemas import LastStep
from server.steps.lineage import Segment, in_segments

LOSS_METRIC = "train/loss"
REWARD_METRIC = "reward/mean"
_MAX_VALUES = 64
_LARGEST = 1.7e308


@dataclass(slots=True, kw_only=True)
class Sparkline:
    """Every `stride`-th value of a sequence, at most 64 of them: when they are too many, every second one goes."""

    stride: int
    num_seen: int
    values: list[int]

    @classmethod
    def parse(cls, text: str | None) -> Sparkline:
        return cls(stride=1, num_seen=0, values=[]) if text is None else cls(**orjson.loads(text))

    def extend(self, sizes: Iterable[int]) -> None:
        for size in sizes:
            if self.num_seen % self.stride == 0:
                self.values.append(size)
            self.num_seen += 1
            if len(self.values) > _MAX_VALUES:
                self.values = self.values[::2]
                self.stride *= 2

    def dump(self) -> str:
        return orjson.dumps({"stride": self.stride, "num_seen": self.num_seen, "values": self.values}).decode()


def note_progress(
    connection: Connection, run: OpenRun, prepared: Sequence[PreparedStep], *, view: Sequence[Segment]
) -> None:
    """Bring the run up to date after these steps, in ascending order, were stored.

    view: the current view, with them. When they do not all come after its newest step before, all is read again.
    """
    before: dict[str, Any] = {"step": -1, "reward": None} if run.last_step is None else orjson.loads(run.last_step)
    newest = prepared[-1]
    if prepared[0].step > before["step"]:
        sparkline = Sparkline.parse(run.sparkline)
        sparkline.extend(step.message.global_batch_size for step in prepared)
        num_steps, is_newest = run.num_steps + len(prepared), True
    else:
        query = select(steps.c.step, steps.c.global_batch_size).where(in_segments(run.key, view))
        rows = connection.execute(query.order_by(steps.c.step))
        numbers, sizes = zip(*rows, strict=True)
        sparkline = Sparkline.parse(None)
        sparkline.extend(sizes)
        num_steps, is_newest = len(numbers), numbers[-1] == newest.step
    run.num_steps, run.sparkline = num_steps, sparkline.dump()
    if is_newest:
        last = last_step(newest, reward=_newest_reward(prepared, before["reward"]))
        run.last_step = last.model_dump_json()
        run.last_reward, run.last_loss = sortable(last.reward), sortable(last.loss)
        run.last_batch_size = last.global_batch_size


def last_step(step: PreparedStep, *, reward: float | NonFinite | None) -> LastStep:
    message = step.message
    step_s = _duration_s(message)
    loss = step.metrics.get(LOSS_METRIC)
    return LastStep(
        step=message.step,
        global_batch_size=message.global_batch_size,
        num_prompts=message.num_prompts,
        num_tokens=message.num_tokens,
        loss=None if loss is None else loss.value,
        reward=reward,
        tokens_per_s=message.num_tokens / step_s if step_s > 0 and message.num_tokens is not None else None,
        measured_idle_frac=message.measured_idle_frac,
        predicted_idle_frac=message.predicted_idle_frac,
        idle_bound_frac=message.idle_bound_frac,
        step_s=step_s,
        loss_aggregation=None if message.schedule is None else message.schedule.loss_aggregation,
    )


def _newest_reward(prepared: Sequence[PreparedStep], before: float | NonFinite | None) -> float | NonFinite | None:
    """Rewards come with the first step of an iteration; the others go on from it."""
    for step in reversed(prepared):
        reward = step.metrics.get(REWARD_METRIC)
        if reward is not None and reward.value is not None:
            return reward.value
    return before


def sortable(value: float | NonFinite | None) -> float | None:
    """A number that every database orders alike: infinities become the largest there is, NaN becomes null."""
    if value is None or math.isnan(number := float(value)):
        return None
    return max(-_LARGEST, min(_LARGEST, number))


def _duration_s(message: StepMessage) -> float:
    return (message.ended_at - message.started_at).total_seconds()
