"""Rules about how steps lie on the ranks: idle, over the cap, empty, padded. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from server.advisories.facts import RunFacts
from server.advisories.measured import mean_of, value_of
from server.advisories.schemas import Advisory, AdvisoryKind, AdvisoryTarget, Severity
from server.steps.schemas import StepRow

_IDLE_ABOVE_BOUND = 0.05
"""Five points: what measured times vary by on a quiet machine."""


def find_idle(facts: RunFacts) -> Iterator[Advisory]:
    """Ranks wait longer than the best schedule of these samples would let them."""
    above = facts.known(
        lambda step: (
            None
            if step.measured_idle_frac is None or step.idle_bound_frac is None
            else step.measured_idle_frac - step.idle_bound_frac
        )
    )
    if above and mean_of(above) > _IDLE_ABOVE_BOUND:
        step, _ = max(above, key=value_of)
        yield Advisory(
            kind=AdvisoryKind.IDLE,
            severity=Severity.WARNING,
            title="Ranks wait for each other",
            evidence=f"They idle {100 * mean_of(above):.1f} points above the bound on average; step {step.step} idles "
            f"{step.measured_idle_frac or 0.0:.1%}, its bound is {step.idle_bound_frac or 0.0:.1%}.",
            advice="If the predicted idle is low, costs are wrong: schedule.cost: measured. If it is high too, try "
            "schedule.balance: cost, a smaller token_cap, or the what-if of that step.",
            value=mean_of(above),
            threshold=_IDLE_ABOVE_BOUND,
            target=AdvisoryTarget(step=step.step),
        )


def find_over_cap(facts: RunFacts) -> Iterator[Advisory]:
    """Any at all: each runs alone in a micro-batch that is larger than memory was planned for."""
    over = [(step, count) for step, count in facts.known(lambda step: step.num_over_cap) if count > 0]
    if over:
        step, worst = max(over, key=value_of)
        yield Advisory(
            kind=AdvisoryKind.OVER_CAP,
            severity=Severity.WARNING,
            title="Samples are longer than the token cap",
            evidence=f"{sum(count for _, count in over):.0f} micro-batches of the last {len(facts.steps)} steps are "
            f"over the cap, {worst:.0f} of them in step {step.step}.",
            advice="Raise schedule.token_cap if memory allows, lower rollout.max_new_tokens, or use "
            "context parallelism (parallelism.cp).",
            value=sum(count for _, count in over),
            threshold=0.0,
            target=AdvisoryTarget(step=step.step),
        )


_DUMMY_FRAC = 0.2


def find_dummies(facts: RunFacts) -> Iterator[Advisory]:
    """Empty micro-batches make ranks' counts equal; beyond one in five the steps are too small for the layout."""
    shares = facts.known(lambda step: _dummy_frac(step, facts.dp))
    if shares and mean_of(shares) > _DUMMY_FRAC:
        step, worst = max(shares, key=value_of)
        yield Advisory(
            kind=AdvisoryKind.DUMMIES,
            severity=Severity.INFO,
            title="Many micro-batches are empty",
            evidence=f"{mean_of(shares):.0%} of the micro-batches are dummies; in step {step.step} {worst:.0%}.",
            advice="Make steps larger, or use fewer data-parallel ranks or virtual stages (parallelism.dp, "
            "parallelism.vpp).",
            value=mean_of(shares),
            threshold=_DUMMY_FRAC,
            target=AdvisoryTarget(step=step.step),
        )


_PADDING_FRAC = 0.2


def find_padding(facts: RunFacts) -> Iterator[Advisory]:
    """Packing leaves next to none; a fifth is paid for nothing."""
    padding = facts.known(lambda step: step.padding_frac)
    if padding and mean_of(padding) > _PADDING_FRAC:
        step, worst = max(padding, key=value_of)
        yield Advisory(
            kind=AdvisoryKind.PADDING,
            severity=Severity.INFO,
            title="Many computed positions hold no token",
            evidence=f"{mean_of(padding):.0%} on average, {worst:.0%} at step {step.step}.",
            advice="Cut micro-batches by schedule.token_cap instead of micro_batch_size, so that samples are packed.",
            value=mean_of(padding),
            threshold=_PADDING_FRAC,
            target=AdvisoryTarget(step=step.step),
        )


def _dummy_frac(step: StepRow, dp: int | None) -> float | None:
    if dp is None or step.num_dummies is None or step.num_microbatches is None:
        return None
    return step.num_dummies / (dp * step.num_microbatches)
