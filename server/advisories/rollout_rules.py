"""Rules about what is generated: rewards without signal, responses that are cut, rollouts that wait. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from server.advisories.facts import RunFacts
from server.advisories.measured import mean_of, value_of
from server.advisories.schemas import Advisory, AdvisoryKind, AdvisoryTarget, Severity
from server.steps.schemas import StepRow

_NO_SIGNAL_FRAC = 0.5
"""With half of the groups without signal, half of the generation is for nothing."""


def find_groups_without_signal(facts: RunFacts) -> Iterator[Advisory]:
    """Groups in which every rollout has the same reward have no advantage."""
    measured = facts.measured("reward/zero_variance_frac")
    if measured and mean_of(measured) > _NO_SIGNAL_FRAC:
        step, worst = max(measured, key=value_of)
        yield Advisory(
            kind=AdvisoryKind.NO_SIGNAL,
            severity=Severity.WARNING,
            title="Most groups give no signal",
            evidence=f"In {mean_of(measured):.0%} of the groups all rollouts have one reward; at step {step.step} "
            f"it was {worst:.0%}.",
            advice="Use tasks that the model solves sometimes: easier ones when rewards are low, harder ones when they "
            "are high. A larger rollout.group_size or temperature makes rewards differ more often.",
            value=mean_of(measured),
            threshold=_NO_SIGNAL_FRAC,
            target=AdvisoryTarget(step=step.step, iteration=step.iteration),
        )


_FEWEST_SCORED = 8
"""Few rewards are equal by chance."""


def find_identical_rewards(facts: RunFacts) -> Iterator[Advisory]:
    """One reward for a whole iteration points to the reward, not to the tasks."""
    same = [one for one in facts.rewards if one.num_scored >= _FEWEST_SCORED and one.low == one.high]
    if same:
        newest = same[-1]
        yield Advisory(
            kind=AdvisoryKind.IDENTICAL_REWARDS,
            severity=Severity.CRITICAL,
            title="All rewards of an iteration are the same",
            evidence=f"All {newest.num_scored} recorded rollouts of iteration {newest.iteration} have the reward "
            f"{newest.low:g}; so it was in {len(same)} of the last {len(facts.rewards)} iterations.",
            advice="Read a response: does it have the form that the reward expects? A format reward, an easier task or "
            "a warm start gives the policy something to tell apart.",
            value=float(len(same)),
            threshold=0.0,
            target=AdvisoryTarget(iteration=newest.iteration, rollout_id=newest.rollout_id),
        )


_UNSCORABLE_FRAC = 0.05


def find_unscorable(facts: RunFacts) -> Iterator[Advisory]:
    """Verifiers fail now and then; beyond one in twenty something is wrong with them."""
    measured = facts.measured("rollout/unscorable_frac")
    if measured and mean_of(measured) > _UNSCORABLE_FRAC:
        step, _ = max(measured, key=value_of)
        yield Advisory(
            kind=AdvisoryKind.UNSCORABLE,
            severity=Severity.WARNING,
            title="Many rollouts cannot be scored",
            evidence=f"The verifier failed on {mean_of(measured):.0%} of the rollouts.",
            advice="Look for its errors in the driver's log, and at one of the responses.",
            value=mean_of(measured),
            threshold=_UNSCORABLE_FRAC,
            target=AdvisoryTarget(step=step.step, iteration=step.iteration, rollout_id=facts.unscorable_rollout),
        )


_TRUNCATED_FRAC = 0.25
"""Beyond a quarter the policy is trained on sentences without their ends."""


def find_truncation(facts: RunFacts) -> Iterator[Advisory]:
    """Responses that end by length are judged on what is not there."""
    measured = facts.measured("rollout/truncated_frac")
    if measured and mean_of(measured) > _TRUNCATED_FRAC:
        step, worst = max(measured, key=value_of)
        yield Advisory(
            kind=AdvisoryKind.TRUNCATION,
            severity=Severity.WARNING,
            title="Many responses end by length",
            evidence=f"{mean_of(measured):.0%} of the responses were cut; at step {step.step} it was {worst:.0%}.",
            advice="Raise rollout.max_new_tokens, reward short answers, or look whether the policy still ends its "
            "responses at all.",
            value=mean_of(measured),
            threshold=_TRUNCATED_FRAC,
            target=AdvisoryTarget(step=step.step, iteration=step.iteration, rollout_id=facts.truncated_rollout),
        )


_LOG_PROB_DIFF = 0.02
"""Mean |difference| per token. In fp32 both agree to 1e-5, in bf16 to some 1e-3; ratios of 2% bias what PPO clips."""


def find_log_prob_drift(facts: RunFacts) -> Iterator[Advisory]:
    """Engine and trainer should be the same policy."""
    measured = facts.measured("train/log_prob_diff")
    if measured and mean_of(measured) > _LOG_PROB_DIFF:
        step, worst = max(measured, key=value_of)
        yield Advisory(
            kind=AdvisoryKind.LOG_PROB_DRIFT,
            severity=Severity.WARNING,
            title="Engine and trainer disagree",
            evidence=f"Log-probs of the same tokens differ by {mean_of(measured):.2g} on average, at step "
            f"{step.step} by {worst:.2g}.",
            advice="Let the trainer compute them (algorithm.old_log_probs: trainer) and weigh what is left with "
            "algorithm.correction.",
            value=mean_of(measured),
            threshold=_LOG_PROB_DIFF,
            target=AdvisoryTarget(step=step.step),
        )


_STALE_ITERATIONS = 2
_STALE_UPDATES = 8
"""Off-policy corrections hold for a few updates; beyond that clipping takes most of the gradient away."""


def find_staleness(facts: RunFacts) -> Iterator[Advisory]:
    """Rollouts that were trained many iterations, or many updates, after their generation."""
    oldest = facts.oldest_trained
    if oldest is not None and oldest.age >= _STALE_ITERATIONS:
        yield Advisory(
            kind=AdvisoryKind.STALENESS,
            severity=Severity.WARNING,
            title="Rollouts wait for iterations before they are trained",
            evidence=f"Rollout {oldest.rollout_id} had waited for {oldest.age} iterations.",
            advice="Use batch.remainder: partial or drop, or a global_batch_size that an iteration fills.",
            value=float(oldest.age),
            threshold=float(_STALE_ITERATIONS),
            target=AdvisoryTarget(step=oldest.step, rollout_id=oldest.rollout_id),
        )
    lags = _update_lags(facts.steps)
    step, lag = max(lags, key=value_of, default=(None, 0.0))
    if step is not None and lag > _STALE_UPDATES:
        yield Advisory(
            kind=AdvisoryKind.STALENESS,
            severity=Severity.INFO,
            title="Many updates between generation and training",
            evidence=f"Step {step.step} trained rollouts of a policy {lag:.0f} updates before it.",
            advice="Make fewer steps of an iteration: a larger batch, or a smaller data.rollout_batch_size.",
            value=lag,
            threshold=float(_STALE_UPDATES),
            target=AdvisoryTarget(step=step.step, iteration=step.iteration),
        )


_BACKLOG_ITERATIONS = 4


def find_backlog(facts: RunFacts) -> Iterator[Advisory]:
    """What waits grows with every one of the last iterations."""
    last = [one.num_carried_out for one in facts.books[-_BACKLOG_ITERATIONS - 1 :]]
    if len(last) > _BACKLOG_ITERATIONS and all(before < after for before, after in pairwise(last)):
        newest = facts.books[-1]
        yield Advisory(
            kind=AdvisoryKind.BACKLOG,
            severity=Severity.WARNING,
            title="More and more rollouts wait",
            evidence=f"{last[-1]} rollouts wait after iteration {newest.iteration}; {_BACKLOG_ITERATIONS} iterations "
            f"before it were {last[0]}.",
            advice="Train more of each iteration: a batch size that divides what an iteration keeps, or "
            "batch.remainder: partial.",
            value=float(last[-1]),
            threshold=float(last[0]),
            target=AdvisoryTarget(iteration=newest.iteration, step=newest.first_step),
        )


def _update_lags(steps: Sequence[StepRow]) -> list[tuple[StepRow, float]]:
    """How many updates each step is behind the first one of its iteration, whose policy generated."""
    first: dict[tuple[object, int], int] = {}
    lags = []
    for step in steps:
        if step.policy_version is not None and step.iteration is not None:
            version = first.setdefault((step.phase, step.iteration), step.policy_version)
            lags.append((step, float(step.policy_version - version)))
    return lags
