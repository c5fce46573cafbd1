"""From the measured noise scale to the size of the coming steps: the `adaptive` batch policy's decisions. Pure.

    estimate of a step ──► decide ──► BatchDecision, for the record
                             ▲  └──► ControllerState, whose `size` the next cut uses
                             └────────────┘

`adaptive_size.py` keeps the state, the loop acts on `size`. In mode `advise` the size never changes.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from orchestrator.batching.noise_scale import NoiseEstimate, SmoothedNoise
from orchestrator.contracts.batch_spec import AdaptiveBatchSpec, AdaptiveMode
from orchestrator.contracts.messages import BatchDecision


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerState:
    """What is remembered from step to step. A checkpoint holds it as it is."""

    size: int | None
    """Rollouts of the next cut's steps; None: everything that an iteration kept."""
    noise: SmoothedNoise = field(default_factory=SmoothedNoise)
    samples_per_rollout: float = 1.0
    """Effective samples per rollout in the last measured step: the rate between the noise scale and rollouts."""
    streak: int = 0
    """Steps in a row that asked for a larger (+) or a smaller (−) size."""


def initial_state(spec: AdaptiveBatchSpec) -> ControllerState:
    """Nothing measured yet."""
    return ControllerState(size=spec.global_batch_size)


def decide(
    spec: AdaptiveBatchSpec,
    state: ControllerState,
    *,
    estimate: NoiseEstimate | None,
    num_rollouts: int,
    has_gradient: bool = True,
) -> tuple[ControllerState, BatchDecision]:
    """Take one trained or skipped step into account, and say what size the next cut shall have.

    estimate: of that step; None where it gave none.
    num_rollouts: rollouts of that step.
    has_gradient: False where it was measured and is 0 on every rank; there is no estimate then.

    A noise scale of 96 samples, in steps whose rollouts give 2 effective samples each, with `multiplier` 1 proposes 48
    rollouts. It becomes the size when it lies further from it than `hysteresis`, to the same side, for `patience`
    measured steps in a row.
    """
    measured = _measure(spec, state, estimate, num_rollouts)
    proposal = _proposal(spec, measured)
    reference = measured.size if measured.size is not None else num_rollouts
    if estimate is not None:
        measured = replace(measured, streak=_streak(spec, measured.streak, proposal, reference))
    is_due = estimate is not None and abs(measured.streak) >= spec.patience
    changes = is_due and spec.mode is AdaptiveMode.CONTROL
    after = replace(measured, size=proposal, streak=0) if changes else measured
    decision = BatchDecision(
        mode=spec.mode,
        noise_scale=measured.noise.scale,
        proposed_size=proposal,
        size_before=state.size,
        size_after=after.size,
        reason=(
            _reason(spec, measured, proposal=proposal, reference=reference, is_due=is_due)
            if estimate is not None
            else _why_no_estimate(has_gradient)
        ),
    )
    return after, decision


def _measure(
    spec: AdaptiveBatchSpec, state: ControllerState, estimate: NoiseEstimate | None, num_rollouts: int
) -> ControllerState:
    if estimate is None:
        return state
    return replace(
        state,
        noise=state.noise.add(estimate, smoothing=spec.smoothing),
        samples_per_rollout=estimate.num_effective / num_rollouts,
    )


def _proposal(spec: AdaptiveBatchSpec, state: ControllerState) -> int | None:
    """In rollouts, within the bounds; None during the warm-up and while there is no noise scale."""
    scale = state.noise.scale
    if scale is None or state.noise.num_steps <= spec.warmup_steps:
        return None
    return round(min(max(_wanted(spec, state, scale), spec.min_size), spec.max_size))


def _wanted(spec: AdaptiveBatchSpec, state: ControllerState, scale: float) -> float:
    return spec.multiplier * scale / state.samples_per_rollout


def _streak(spec: AdaptiveBatchSpec, streak: int, proposal: int | None, size: int) -> int:
    if proposal is None or abs(proposal - size) <= spec.hysteresis * size:
        return 0
    return max(streak, 0) + 1 if proposal > size else min(streak, 0) - 1


def _why_no_estimate(has_gradient: bool) -> str:
    if not has_gradient:
        return (
            "The size stays: this step gave no estimate, because it had no gradient: it is 0 on every rank, as where "
            "all rewards of each group are equal."
        )
    return (
        "The size stays: this step gave no estimate, because it was skipped, a gradient was not finite, or fewer than "
        "two data-parallel ranks had loss tokens."
    )


def _reason(
    spec: AdaptiveBatchSpec, state: ControllerState, *, proposal: int | None, reference: int, is_due: bool
) -> str:
    """One sentence: what was measured, and what follows."""
    if state.noise.num_steps <= spec.warmup_steps:
        return f"The size stays: {state.noise.num_steps} of warmup_steps={spec.warmup_steps} are measured."
    if proposal is None:
        return (
            "The size stays: noise hides the gradient, its averaged squared norm is estimated at "
            f"{state.noise.grad_sq:.3g}; larger steps or more smoothing would show it."
        )
    return f"{_what_is_proposed(spec, state, proposal)}; {_what_follows(spec, state, proposal, reference, is_due)}."


def _what_is_proposed(spec: AdaptiveBatchSpec, state: ControllerState, proposal: int) -> str:
    scale = state.noise.scale or 0.0
    wanted = _wanted(spec, state, scale)
    told = (
        f"The noise scale of {scale:.4g} samples asks for {wanted:.4g} rollouts "
        f"(× multiplier {spec.multiplier:g}, {state.samples_per_rollout:.3g} effective samples per rollout)"
    )
    if wanted > spec.max_size:
        return f"{told}, bounded by max_size={proposal}"
    if wanted < spec.min_size:
        return f"{told}, bounded by min_size={proposal}"
    return told


def _what_follows(spec: AdaptiveBatchSpec, state: ControllerState, proposal: int, reference: int, is_due: bool) -> str:
    present = f"the size of {reference}" if state.size is not None else f"this step's {reference}"
    if state.streak == 0:
        return f"{proposal} is within hysteresis={spec.hysteresis:g} of {present}, which stays"
    side = "above" if state.streak > 0 else "below"
    if not is_due:
        steps = abs(state.streak)
        return f"{proposal} is {side} {present} for {steps} of patience={spec.patience} steps in a row, so it stays"
    if spec.mode is AdaptiveMode.ADVISE:
        return f"mode=control would go from {reference} to {proposal}, mode=advise only says so"
    return f"the size goes from {reference} to {proposal} after {abs(state.streak)} steps in a row {side} it"
