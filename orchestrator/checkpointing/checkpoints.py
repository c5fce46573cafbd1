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

from orchestrator.checkpointing.checkpoint_store import CheckpointStore
from orchestrator.checkpointing.training_state import TrainingState, read_training_state, write_training_state
from orchestrator.contracts.checkpoint_messages import CheckpointMessage
from orchestrator.contracts.messages import EventMessage
from orchestrator.contracts.rollout import Reporter
from orchestrator.reporting.stopwatch import Stopwatch
from orchestrator.reporting.timekeeper import Timekeeper
from orchestrator.train_items import TrainItem
from trainer.contracts.policy_trainer import PolicyTrainer
from trainer.contracts.progress import log as progress_log
from trainer.contracts.span import Activity

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Writing:
    """A checkpoint on its way to the disk."""

    state: TrainingState
    since: Stopwatch


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
        time: Timekeeper,
    ) -> None:
        """write_model_files: writes config.json and the tokenizer, so that a checkpoint says what it is of."""
        self._time = time
        self._store = store
        self._trainer = trainer
        self._reporter = reporter
        self._every_steps = every_steps
        self._write_model_files = write_model_files
        self._last_step = 0
        self._being_written: _Writing | None = None
        self._saved: TrainingState | None = None

    def resume(self) -> Resumption | None:
        """The newest checkpoint of an earlier attempt, or None without any. Tells of it."""
        directory = self._store.newest()
        if directory is None:
            return None
        state, waiting = read_training_state(directory)
        self._last_step = state.num_steps
        self._tell(state, "resumed", f"Goes on from {directory.name}: step {state.num_steps} is next.")
        return Resumption(directory=directory, state=state, waiting=waiting)

    def save_if_due(self, state: TrainingState, waiting: Sequence[TrainItem] = ()) -> None:
        """Save when enough steps have gone by; commit what was being written in any case."""
        self.settle()
        if state.num_steps - self._last_step >= self._every_steps:
            self.save(state, waiting)

    def save(self, state: TrainingState, waiting: Sequence[TrainItem] = ()) -> None:
        """Begin a checkpoint, unless this state has just been saved. Training may go on when it returns."""
        self.settle()
        if state == self._saved:
            return
        stopwatch = Stopwatch()
        with self._time.phase("save", Activity.SAVE):
            directory = self._store.begin(state.num_steps)
            self._trainer.begin_save(str(directory))
            write_training_state(directory, state, waiting)
            self._write_model_files(directory)
        self._last_step, self._saved = state.num_steps, state
        self._being_written = _Writing(state=state, since=stopwatch)
        _log.info("checkpoint of step %d: training stood still for %.2f s", state.num_steps, stopwatch.seconds)

    def settle(self) -> None:
        """Wait until the checkpoint that is being written is there for good."""
        if self._being_written is None:
            return
        progress_log.info("waiting until checkpoint %d is written", self._being_written.state.num_steps)
        with self._time.phase("finish_save"):
            self._trainer.finish_save()
        written, self._being_written = self._being_written, None
        message = self._message(written)
        directory = self._store.commit(message.step, message)
        self._reporter.checkpoint(message)
        told = f"Checkpoint {directory.name} is written: the state before step {message.step}."
        self._tell(written.state, "checkpoint", told)
        self._prune()

    def _message(self, written: _Writing) -> CheckpointMessage:
        state = written.state
        return CheckpointMessage(
            step=state.num_steps,
            iteration=state.iteration,
            phase=state.phase,
            policy_version=state.policy_version,
            at=datetime.now(UTC),
            directory=str(self._store.path(state.num_steps)),
            num_bytes=self._store.num_bytes(state.num_steps),
            write_s=written.since.seconds,
        )

    def _prune(self) -> None:
        """Remove old ones. Told before it is done: nobody shall choose one that is gone."""
        for step in self._store.superfluous():
            message = self._store.message(step)
            if message is not None:
                self._reporter.checkpoint(message.model_copy(update={"removed": True, "at": datetime.now(UTC)}))
            self._store.remove(step)

    def _tell(self, state: TrainingState, kind: str, message: str) -> None:
        _log.info(message)
        self._reporter.event(
            EventMessage(
                # The step alone does not do: the warm start's last checkpoint and the next phase's first have the same.
                key=f"{kind}/{state.phase}/{state.iteration}",
                kind=kind,
                at=datetime.now(UTC),
                message=message,
                data={"step": state.num_steps},
            )
        )
