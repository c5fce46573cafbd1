"""What the loop tells of an iteration that trains no step: why, and what became of its rollouts. Pure."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from orchestrator.contracts.messages import EventMessage
from orchestrator.rollouts.group_filter import EmptyDecision
from orchestrator.rollouts.rollout_counts import RolloutCounts
from orchestrator.rollouts.rollout_round import RolledOut


def skipped_event(iteration: int, rolled: RolledOut, counts: RolloutCounts, *, at: datetime) -> EventMessage:
    """Nothing survived the filter, or what survived was dropped: weights and LR position stay."""
    data = _data(iteration, rolled, counts) | {"status": EmptyDecision.SKIP}
    message = _why_skipped(iteration, rolled, counts.num_dropped)
    return EventMessage(
        key=f"iteration_skipped/{iteration}", kind="iteration_skipped", at=at, message=message, data=data
    )


def carried_event(iteration: int, rolled: RolledOut, counts: RolloutCounts, *, at: datetime) -> EventMessage:
    """What survived waits, because it does not fill a step yet."""
    waiting, before = counts.num_carried_out, counts.num_carried_in
    message = (
        f"Iteration {iteration} trains nothing: its {waiting - before} rollouts that survived the filter fill no step "
        f"with the {before} that waited, and batch.remainder=carry keeps all {waiting} for the next iteration"
    )
    return EventMessage(
        key=f"iteration_carried/{iteration}",
        kind="iteration_carried",
        at=at,
        message=message,
        data=_data(iteration, rolled, counts),
    )


def _data(iteration: int, rolled: RolledOut, counts: RolloutCounts) -> dict[str, Any]:
    return {
        "iteration": iteration,
        "num_generated": counts.num_generated,
        "num_filtered": counts.num_filtered,
        "num_dropped": counts.num_dropped,
        "num_carried_in": counts.num_carried_in,
        "num_carried_out": counts.num_carried_out,
        "num_refills": rolled.num_refills,
        "lr_advance": 0,
        "reward_mean": rolled.metrics()["reward/mean"].value,
    }


def _why_skipped(iteration: int, rolled: RolledOut, num_dropped: int) -> str:
    if num_dropped:
        return (
            f"Iteration {iteration} is skipped: its {num_dropped} rollouts that survived the filter fill no step, and "
            "batch.remainder=drop trains no smaller one"
        )
    reward = rolled.metrics()["reward/mean"].value
    told = "no rollout could be scored" if reward is None else f"the mean reward was {reward:.3f}"
    return (
        f"Iteration {iteration} is skipped: none of its {len(rolled.groups)} groups survived the filter after "
        f"{rolled.num_refills} refills; {told}"
    )
