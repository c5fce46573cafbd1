"""Rules about steps that fail, stop coming, or take too long. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from server.advisories.durations import duration
from server.advisories.facts import RunFacts
from server.advisories.measured import step_s_of, value_of
from server.advisories.schemas import Advisory, AdvisoryKind, AdvisoryTarget, Severity
from server.steps.schemas import StepRow
from trainer.contracts.policy_trainer import StepStatus


def find_non_finite(facts: RunFacts) -> Iterator[Advisory]:
    """Any step at all: a skipped step teaches nothing, and the next one often fails too."""
    bad = [step for step in facts.steps if step.status is StepStatus.SKIPPED_NON_FINITE]
    if bad:
        yield Advisory(
            kind=AdvisoryKind.NON_FINITE,
            severity=Severity.CRITICAL,
            title="Loss or gradient was not finite",
            evidence=f"{len(bad)} of the last {len(facts.steps)} steps were skipped, "
            f"the newest is step {bad[-1].step}.",
            advice="Look at the samples that the step's event names. Lower optimizer.lr or optimizer.clip_grad, or "
            "bound the ratio with algorithm.correction.",
            value=float(len(bad)),
            threshold=0.0,
            target=AdvisoryTarget(step=bad[-1].step),
        )


_EXPLOSION_FACTOR = 100.0
"""Noise moves a norm or a loss by factors of a few."""
_EXPLODING = {"train/loss": "loss", "train/grad_norm": "gradient norm"}
_LEAST_USUAL = {"train/loss": 0.1, "train/grad_norm": 1.0}
"""A policy's loss is near 0 when all is well: a hundred times nothing is no explosion."""


def find_explosion(facts: RunFacts) -> Iterator[Advisory]:
    """A loss or gradient norm that is far beyond what it usually is, and the step since when."""
    found = [each for name, noun in _EXPLODING.items() if (each := _explosion(facts, name, noun)) is not None]
    if found:
        first, _, bound, value = min(found, key=lambda each: each[0].step)
        yield Advisory(
            kind=AdvisoryKind.EXPLOSION,
            severity=Severity.CRITICAL,
            title="Loss or gradient norm exploded",
            evidence=f"Since step {first.step}: {'; '.join(told for _, told, _, _ in found)}.",
            advice="Go back to a checkpoint before that step, with a lower optimizer.lr or optimizer.clip_grad.",
            value=value,
            threshold=bound,
            target=AdvisoryTarget(step=first.step),
        )


def _explosion(facts: RunFacts, name: str, noun: str) -> tuple[StepRow, str, float, float] | None:
    """The first step that is beyond the bound, what to say of it, the bound, and the largest value."""
    sizes = [(step, abs(value)) for step, value in facts.measured(name)]
    usual = sorted(map(value_of, sizes))[(len(sizes) - 1) // 4] if len(sizes) > 1 else 0.0
    bound = _EXPLOSION_FACTOR * max(usual, _LEAST_USUAL[name])
    beyond = [(step, size) for step, size in sizes if size > bound]
    if not beyond:
        return None
    worst, size = max(beyond, key=value_of)
    told = f"{noun} up to {_figure(size)} at step {worst.step}, usually {_figure(usual)}"
    return beyond[0][0], told, bound, size


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"


_STALL_STEPS = 10
"""A run that has been silent for so many usual steps is not only slow."""
_SHORTEST_STALL_S = 120.0
"""Below this an evaluation or a checkpoint explains it."""


def find_stall(facts: RunFacts) -> Iterator[Advisory]:
    """A run that goes on, and whose newest step ended long ago."""
    if not facts.is_running or len(facts.steps) < 3:
        return
    newest = facts.steps[-1]
    silent_s = (facts.now - newest.ended_at).total_seconds()
    bound_s = max(_SHORTEST_STALL_S, _STALL_STEPS * median(map(step_s_of, facts.steps)))
    if silent_s > bound_s:
        at = "" if facts.activity is None else f" Its driver says: {facts.activity}."
        yield Advisory(
            kind=AdvisoryKind.STALL,
            severity=Severity.CRITICAL,
            title="No step for a long time",
            evidence=f"Step {newest.step} ended {duration(silent_s)} ago; usual steps take "
            f"{duration(median(map(step_s_of, facts.steps)))}.{at}",
            advice="Look at the newest lines of the logs and at the machine. If nothing moves, cancel the run and "
            "retry it from its last checkpoint.",
            value=silent_s,
            threshold=bound_s,
            target=AdvisoryTarget(step=newest.step),
        )


_SLOW_FACTOR = 5.0
"""Steps of changing size differ by a factor of two or three; this is more."""


def find_slow_step(facts: RunFacts) -> Iterator[Advisory]:
    """A step that took many times as long as the others."""
    if len(facts.steps) < 5:
        return
    usual_s = median(map(step_s_of, facts.steps))
    step, step_s = max(((step, step_s_of(step)) for step in facts.steps), key=value_of)
    if usual_s > 0 and step_s > _SLOW_FACTOR * usual_s:
        yield Advisory(
            kind=AdvisoryKind.SLOW_STEP,
            severity=Severity.INFO,
            title="One step took far longer than the others",
            evidence=f"Step {step.step} took {duration(step_s)}; usual steps take {duration(usual_s)}.",
            advice="Look at its timeline: which actor was at what, and who waited for it.",
            value=step_s,
            threshold=_SLOW_FACTOR * usual_s,
            target=AdvisoryTarget(step=step.step),
        )
