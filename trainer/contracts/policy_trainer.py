"""The port of the trainer: what an orchestrator asks of it, and what it gets back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from trainer.contracts.metric import Metric
from trainer.contracts.sample import TrainSample
from trainer.contracts.schedule import DpSchedule
from trainer.contracts.span import ActorSpans
from trainer.contracts.trainer_spec import PhaseSpec

Weights = Mapping[str, npt.NDArray[np.float32]]
"""Whole tensors by their Hugging Face names, e.g. `model.layers.0.self_attn.q_proj.weight`."""


class StepStatus(StrEnum):
    """What became of a step."""

    TRAINED = "trained"
    SKIPPED_NO_SIGNAL = "skipped:no_signal"
    """No loss token in the whole step: 0/0 never reaches the optimizer, the LR position stays."""
    SKIPPED_NON_FINITE = "skipped:non_finite"
    """Loss or gradient was NaN or infinite: the optimizer did not move, the LR position stays."""

    @property
    def moved_weights(self) -> bool:
        return self is StepStatus.TRAINED


@dataclass(frozen=True, slots=True, kw_only=True)
class GradientNoise:
    """How much the data-parallel ranks disagree about one step's gradient. Squared Euclidean norms, before clipping.

    The share of rank r is c_r = Σ_{i on r} w_i Σ_t mask·∇loss_t, with w_i the sample's weight per loss token, so that
    Σ_r c_r = G, the step's gradient. `orchestrator/batching/noise_scale.py` makes the noise scale of it.
    """

    rank_sq_norms: tuple[float, ...]
    """|c_r|² by dp_rank, over the whole model; 0 for a rank without samples."""
    sq_norm: float
    """|G|²."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRecord:
    """What the trainer tells of one step."""

    status: StepStatus
    global_batch_size: int
    lr: float
    """The learning rate that this step used (or would have used, when skipped)."""
    lr_position_before: int
    """Position of the LR schedule, in the unit of the phase (`LrUnit`), before and after the step."""
    lr_position_after: int
    train_s: float
    """Wall time from the first micro-batch to the end of the optimizer's update."""
    micro_batch_s: tuple[tuple[float, ...], ...]
    """Measured seconds of forward and backward by dp_rank and micro-batch; 0 for a dummy that was skipped."""
    num_positions: tuple[tuple[int, ...], ...]
    """Token positions that were computed, by dp_rank and micro-batch, in the rows of all context-parallel ranks.

    What is more than the micro-batch's tokens is padding: the ends of shorter rows, and all of a dummy that runs.
    0 where nothing was computed: a dummy that was skipped, a step without signal.
    """
    non_finite: tuple[tuple[int, int], ...] = ()
    """(dp_rank, micro-batch) where the loss was NaN or infinite; empty too where only the gradient was."""
    metrics: Mapping[str, Metric]
    """`train/…` and `perf/…`, reduced over all ranks and micro-batches. `train/loss` is the step's loss, and the weight
    behind it is `global_batch_size`: a weighted mean over steps is the loss of all their samples."""
    noise: GradientNoise | None = None
    """Only of a trained step, in a phase with `measure_noise`."""


class LogProbsOf(StrEnum):
    """Whose log-probs are asked for."""

    POLICY = "policy"
    """The weights as they are now."""
    REFERENCE = "reference"
    """The weights as they were at the beginning of the phase; it must be one with `keeps_reference`."""


class TrainerError(Exception):
    """The trainer cannot go on: a rank died or raised. The first cause comes first in the message."""


class PolicyTrainer(Protocol):
    """A policy under training, however many processes it takes.

    start_phase ──► train ──► weights ──► train ──► …        close
                     ▲                     │
                     └── one iteration ◄───┘
    """

    def hf_config(self) -> Mapping[str, Any]:
        """The model's Hugging Face config.json, for an engine that shall run the same model."""
        ...

    def start_phase(self, phase: PhaseSpec) -> None:
        """Begin to optimise something else: the weights stay, optimizer state and LR position begin anew."""
        ...

    def train(self, *, samples: Sequence[TrainSample], schedule: DpSchedule) -> list[StepRecord]:
        """Train the steps of one iteration, in order; `schedule` points into `samples`. One record for each step."""
        ...

    def log_probs(
        self, *, samples: Sequence[TrainSample], schedule: DpSchedule, of: LogProbsOf
    ) -> list[npt.NDArray[np.float32]]:
        """Log p(token t | tokens < t) of each sample, [T] in nats at the phase's temperature, 0 outside its loss mask.

        Nothing is trained. `schedule` points into `samples`, each of which it holds once.
        """
        ...

    def weights(self) -> Weights:
        """The policy as it is now, gathered from all tensor- and pipeline-parallel ranks. The arrays are read-only."""
        ...

    def begin_save(self, directory: str) -> None:
        """Begin to write weights, optimizer state and LR position into an existing directory that all ranks can reach.

        Returns when the state is copied: training may go on while it is written.
        """
        ...

    def finish_save(self) -> None:
        """Return when all of it is written; at once when nothing is.

        Raises:
            TrainerError: it could not be written.
        """
        ...

    def load(self, directory: str) -> None:
        """Go on from what `begin_save` wrote, under any layout; the phase was started and has not trained yet."""
        ...

    def take_spans(self) -> ActorSpans:
        """What the ranks did when since this was last asked, by `time.perf_counter` of the calling process."""
        ...

    def close(self) -> None:
        """End all processes of the trainer. Safe to call twice."""
        ...
