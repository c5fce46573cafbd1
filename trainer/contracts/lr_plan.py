"""The learning rate as a function of the position, without torch or Megatron: what a run will use, before launch.

`orchestrator/planning/` draws it. The trainer takes its learning rate from Megatron's own scheduler, never from here; a
test holds the two together, bit for bit.
"""

from __future__ import annotations

import math

from trainer.contracts.optimizer_spec import LrUnit, OptimizerSpec


def lr_at(spec: OptimizerSpec, position: int) -> float:
    """The learning rate that a step uses when the schedule stands at `position`, in `spec.lr_schedule.unit`.

    With a warm-up of 100 samples to 1.0, position 24 gives 0.24. Expressions and their order are those of
    OptimizerParamScheduler.get_lr (Megatron-Core 0.16), so that the floats are the same.
    """
    schedule = spec.lr_schedule
    peak, floor = spec.lr, spec.lr * schedule.min_lr_frac
    if schedule.warmup > 0 and position <= schedule.warmup:
        return peak * float(position) / float(schedule.warmup)
    if schedule.style == "constant" or schedule.decay is None:
        return peak
    if position > schedule.decay:
        return floor
    decayed_frac = float(position - schedule.warmup) / float(schedule.decay - schedule.warmup)
    if schedule.style == "linear":
        return floor + (1.0 - decayed_frac) * (peak - floor)
    return floor + 0.5 * (math.cos(math.pi * decayed_frac) + 1.0) * (peak - floor)


def lr_increment(unit: LrUnit, *, step_global_batch_size: int, step_num_tokens: int) -> int:
    """By how much a trained step moves the position; a skipped step does not move it.

    step_num_tokens: tokens of all samples of the step, prompts included.
    """
    match unit:
        case LrUnit.SAMPLES:
            return step_global_batch_size
        case LrUnit.TOKENS:
            return step_num_tokens
        case LrUnit.STEPS:
            return 1
