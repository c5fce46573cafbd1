"""Saves where a run stands while it trains on, and finds the place where an earlier attempt stopped.

    iteration ends ──► save: trainer copies its state ──► training goes on, ranks write ──► next iteration ends: commit

Called by the loop and the warm start between steps. A checkpoint counts from its commit; what was being written when a
process died is removed by the next attempt.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from orchestrator.checkpoint_store import CheckpointStore
from orchestrator.contracts.messages import EventMessage
from orchestrator.contracts.rollout import Reporter
from orchestrator.stopwatch import Stopwatch
from orchestrator.train_items import TrainItem
from orchestrator.training_state import TrainingState, read_training_state, write_training_state
from trainer.contracts.policy_trainer import PolicyTrainer

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Resumption:
    """Where an earlier attempt stopped."""

    directory: Path
    state: TrainingState
    waiting: Sequence[TrainItem]


class Checkpoints:
    """The checkpoints of one attempt."""

    def __init__(
        self,
        store: CheckpointStore,
        *,
        trainer: PolicyTrainer,
        reporter: Reporter,
        every_steps: int,
        write_model_files: Callable[[Path], None],
    ) -> None:
        """write_model_files: writes config.json and the tokenizer, so that a checkpoint says what it is of."""
        self._store = store
        self._trainer = trainer
        self._reporter = reporter
        self._every_steps = every_steps
        self._write_model_files = write_model_files
        self._last_step = 0
        self._being_written: int | None = None

    def resume(self) -> Resumption | None:
        """The newest checkpoint of an earlier attempt, or None without any. Tells of it."""
        directory = self._store.newest()
        if directory is None:
            return None
        state, waiting = read_training_state(directory)
        self._last_step = state.num_steps
        self._tell(state.num_steps, "resumed", f"Goes on from {directory.name}: step {state.num_steps} is next.")
        return Resumption(directory=directory, state=state, waiting=waiting)

    def save_if_due(self, state: TrainingState, waiting: Sequence[TrainItem] = ()) -> None:
        """Save when enough steps have gone by; commit what was being written in any case."""
        self.settle()
        if state.num_steps - self._last_step >= self._every_steps:
            self.save(state, waiting)

    def save(self, state: TrainingState, waiting: Sequence[TrainItem] = ()) -> None:
        """Begin a checkpoint. Training may go on when it returns."""
        self.settle()
        stopwatch = Stopwatch()
        directory = self._store.begin(state.num_steps)
        self._trainer.begin_save(str(directory))
        write_training_state(directory, state, waiting)
        self._write_model_files(directory)
        self._last_step = self._being_written = state.num_steps
        _log.info("checkpoint of step %d: training stood still for %.2f s", state.num_steps, stopwatch.seconds)

    def settle(self) -> None:
        """Wait until the checkpoint that is being written is there for good."""
        if self._being_written is None:
            return
        self._trainer.finish_save()
        step, self._being_written = self._being_written, None
        directory = self._store.commit(step)
        self._tell(step, "checkpoint", f"Checkpoint {directory.name} is written: the state before step {step}.")

    def _tell(self, step: int, kind: str, message: str) -> None:
        _log.info(message)
        self._reporter.event(
            EventMessage(key=f"{kind}/{step}", kind=kind, at=datetime.now(UTC), message=message, data={"step": step})
        )
