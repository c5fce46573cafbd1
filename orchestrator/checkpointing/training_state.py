"""Where a run stands between two steps: all that a later attempt needs, beside the trainer's own part, to go on.

    driver.json              the fields of `TrainingState`
    waiting.safetensors      tokens and log-probs of the rollouts that wait for the next iteration

The loop and the warm start make it, `checkpoints.py` writes it, and the next attempt's loop begins with it. Prompts and
sampling are drawn by seeds that depend on the iteration alone, so no generator has to be saved.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt
from pydantic import TypeAdapter, ValidationError
from safetensors.numpy import load_file, save_file

from orchestrator.batching.batch_controller import ControllerState
from orchestrator.batching.batch_size import BatchPosition
from orchestrator.contracts.messages import Phase
from orchestrator.contracts.rollout import SourcePosition
from orchestrator.sample_shape import SampleShape
from orchestrator.train_items import TrainItem

_STATE_FILE, _WAITING_FILE = "driver.json", "waiting.safetensors"


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingState:
    """Between two steps of a phase."""

    phase: Phase
    iteration: int
    """The next one, counted within the phase."""
    num_steps: int
    """Steps so far, over all phases: the number of the next one."""
    policy_version: int
    source: SourcePosition
    held_out_reward: tuple[float, float] | None = None
    """The warm start's last measurement as (sum, count)."""
    batch: BatchPosition = field(default_factory=BatchPosition)
    controller: ControllerState | None = None
    """Only under `batch: adaptive`."""
    num_empty: int = 0
    """Empty iterations in a row."""
    num_skipped: int = 0
    """Iterations so far that trained nothing, over all attempts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _WaitingItem:
    """A TrainItem without its arrays."""

    shape: SampleShape
    num_prompt_tokens: int
    reward: float | None
    advantage: float | None
    policy_version: int
    age: int
    is_recorded: bool = False
    arrays: tuple[str, ...]
    """Names of its log-probs that are there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _DriverFile:
    format: int
    state: TrainingState
    waiting: tuple[_WaitingItem, ...]


_FORMAT = 2
_LOG_PROBS = ("log_probs", "trainer_log_probs", "reference_log_probs")
_DRIVER_FILE = TypeAdapter(_DriverFile)


def write_training_state(directory: Path, state: TrainingState, waiting: Sequence[TrainItem]) -> None:
    """Write both files into an existing directory."""
    told = _DriverFile(format=_FORMAT, state=state, waiting=tuple(map(_without_arrays, waiting)))
    (directory / _STATE_FILE).write_bytes(_DRIVER_FILE.dump_json(told))
    arrays: dict[str, npt.NDArray[np.generic]] = {}
    for i, item in enumerate(waiting):
        arrays[f"{i}/token_ids"] = item.token_ids
        arrays |= {f"{i}/{name}": getattr(item, name) for name in _log_probs_of(item)}
    save_file(arrays, directory / _WAITING_FILE)


def read_training_state(directory: Path) -> tuple[TrainingState, list[TrainItem]]:
    """Read what `write_training_state` wrote.

    Raises:
        ValueError: a file is missing or damaged, or of another format.
    """
    try:
        told = _DRIVER_FILE.validate_json((directory / _STATE_FILE).read_bytes())
        arrays = load_file(directory / _WAITING_FILE)
        waiting = [_with_arrays(item, i, arrays) for i, item in enumerate(told.waiting)]
    except ValidationError as error:
        raise ValueError(f"checkpoint {directory}: {_STATE_FILE} cannot be read: {error}") from error
    # safetensors has an error of its own, which is not an OSError.
    except Exception as error:
        raise ValueError(f"checkpoint {directory}: {error}") from error
    if told.format != _FORMAT:
        raise ValueError(f"checkpoint {directory}: {_STATE_FILE} has format {told.format}, not {_FORMAT}")
    return told.state, waiting


def _without_arrays(item: TrainItem) -> _WaitingItem:
    return _WaitingItem(
        shape=item.shape,
        num_prompt_tokens=item.num_prompt_tokens,
        reward=item.reward,
        advantage=item.advantage,
        policy_version=item.policy_version,
        age=item.age,
        is_recorded=item.is_recorded,
        arrays=_log_probs_of(item),
    )


def _log_probs_of(item: TrainItem) -> tuple[str, ...]:
    return tuple(name for name in _LOG_PROBS if getattr(item, name) is not None)


def _with_arrays(item: _WaitingItem, i: int, arrays: dict[str, npt.NDArray[np.generic]]) -> TrainItem:
    return TrainItem(
        shape=item.shape,
        token_ids=arrays[f"{i}/token_ids"].astype(np.int64, copy=False),
        num_prompt_tokens=item.num_prompt_tokens,
        reward=item.reward,
        advantage=item.advantage,
        policy_version=item.policy_version,
        age=item.age,
        is_recorded=item.is_recorded,
        **{name: arrays[f"{i}/{name}"].astype(np.float32) for name in item.arrays},
    )
