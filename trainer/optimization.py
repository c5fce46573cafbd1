"""Megatron's optimizer and learning-rate schedule for one phase.

The schedule is Megatron's OptimizerParamScheduler; its position counts samples, tokens or steps, and it moves only when
a step was trained: by the step's own global batch size, by its own tokens, or by one.
"""

from __future__ import annotations

from typing import Any

from megatron.core.optimizer import MegatronOptimizer, OptimizerConfig, get_megatron_optimizer
from megatron.core.optimizer_param_scheduler import OptimizerParamScheduler

from trainer.contracts.lr_plan import lr_increment
from trainer.contracts.optimizer_spec import LrScheduleSpec, OptimizerSpec
from trainer.model import ModelChunks


def build_optimizer(spec: OptimizerSpec, model: ModelChunks) -> MegatronOptimizer:
    """A fresh Adam over the model's parameters. As in Megatron, one-dimensional parameters have no weight decay."""
    config = OptimizerConfig(
        optimizer=spec.type,
        lr=spec.lr,
        min_lr=spec.lr * spec.lr_schedule.min_lr_frac,
        weight_decay=spec.weight_decay,
        adam_beta1=spec.beta1,
        adam_beta2=spec.beta2,
        adam_eps=spec.eps,
        clip_grad=spec.clip_grad,
        bf16=model[0].config.bf16,
        params_dtype=model[0].config.params_dtype,
        use_distributed_optimizer=model[0].ddp_config.use_distributed_optimizer,
        overlap_param_gather=model[0].ddp_config.overlap_param_gather,
    )
    return get_megatron_optimizer(config, list(model), use_gloo_process_groups=False)


class LrSchedule:
    """The learning rate of a phase, and its position.

    A step uses the learning rate at the position before it. With a warm-up of 100 samples to 1.0 and steps of 24 and 8
    samples, the steps use 0.0 and 0.24, and the position afterwards is 32.
    """

    def __init__(self, spec: OptimizerSpec, optimizer: MegatronOptimizer) -> None:
        self._unit = spec.lr_schedule.unit
        self._scheduler = _build_scheduler(spec, spec.lr_schedule, optimizer)

    @property
    def position(self) -> int:
        return int(self._scheduler.num_steps)

    @property
    def lr(self) -> float:
        """The learning rate at the present position."""
        return float(self._scheduler.optimizer.param_groups[0]["lr"])

    def advance(self, *, step_global_batch_size: int, step_num_tokens: int) -> None:
        """Move past a trained step, whose samples and tokens over all data-parallel ranks these are."""
        self._scheduler.step(
            increment=lr_increment(
                self._unit, step_global_batch_size=step_global_batch_size, step_num_tokens=step_num_tokens
            )
        )

    def state_dict(self) -> dict[str, Any]:
        """What `load_state_dict` takes; JSON can hold it."""
        return dict(self._scheduler.state_dict())

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take up a saved position, once, in a schedule that has not moved yet."""
        assert self.position == 0, "Megatron adds the saved position to the present one"
        self._scheduler.load_state_dict(state)


def _build_scheduler(
    spec: OptimizerSpec, schedule: LrScheduleSpec, optimizer: MegatronOptimizer
) -> OptimizerParamScheduler:
    return OptimizerParamScheduler(
        optimizer,
        init_lr=0.0,
        max_lr=spec.lr,
        min_lr=spec.lr * schedule.min_lr_frac,
        lr_warmup_steps=schedule.warmup,
        # A constant schedule has no end, but Megatron wants one that lies behind the warm-up.
        lr_decay_steps=schedule.decay or schedule.warmup + 1,
        lr_decay_style=schedule.style,
        start_wd=spec.weight_decay,
        end_wd=spec.weight_decay,
        wd_incr_steps=0,
        wd_incr_style="constant",
    )
