"""Names what is odd about the newest steps of a run, with evidence and what to do. Pure.

Each rule looks at the facts and says what it found. Its bounds are constants above it, with their reasons.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from server.advisories import layout_rules, progress_rules, rollout_rules
from server.advisories.facts import RunFacts
from server.advisories.schemas import Advisory, Severity

RULES: tuple[Callable[[RunFacts], Iterator[Advisory]], ...] = (
    progress_rules.find_non_finite,
    progress_rules.find_explosion,
    progress_rules.find_stall,
    rollout_rules.find_identical_rewards,
    rollout_rules.find_groups_without_signal,
    rollout_rules.find_unscorable,
    rollout_rules.find_truncation,
    rollout_rules.find_log_prob_drift,
    rollout_rules.find_staleness,
    rollout_rules.find_backlog,
    layout_rules.find_idle,
    layout_rules.find_over_cap,
    layout_rules.find_dummies,
    layout_rules.find_padding,
    progress_rules.find_slow_step,
)


def advisories_of(facts: RunFacts) -> tuple[Advisory, ...]:
    """Everything that the rules find, the gravest first."""
    found = [advisory for rule in RULES for advisory in rule(facts)]
    return tuple(sorted(found, key=lambda advisory: list(Severity).index(advisory.severity)))
