"""The procedural tasks of reasoning_gym, made from a RunSpec's `data.tasks`.

The prompt stream draws from them, the reward judges with them, and preflight tries them out. reasoning_gym is imported
when the first task is made: it costs a second that a server does not have at its start.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, cast

from orchestrator.contracts.data_spec import ReasoningGymTask

_SET_BY_THE_RUN = ("seed", "size")


class Task(Protocol):
    """What we use of a reasoning_gym dataset: entries 0 … len − 1, each made when it is asked for, and a verifier."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int) -> dict[str, Any]: ...

    def score_answer(self, answer: str | None, entry: Mapping[str, Any]) -> float: ...


class TaskError(ValueError):
    """A task that cannot be made. `field` is the part of the ReasoningGymTask to change: `name` or `config`."""

    def __init__(self, message: str, field: str) -> None:
        super().__init__(message)
        self.field = field

    def __reduce__(self) -> tuple[type[TaskError], tuple[str, str]]:
        return TaskError, (str(self), self.field)


def make_task(task: ReasoningGymTask, seed: int) -> Task:
    """The task with its configuration; the same seed gives the same entries.

    Raises:
        TaskError: reasoning_gym has no such task, or the task does not take this configuration.
    """
    import reasoning_gym
    from reasoning_gym.factory import DATASETS

    if task.name not in DATASETS:
        raise TaskError(_unknown(task.name, DATASETS), "name")
    for key in _SET_BY_THE_RUN:
        if key in task.config:
            raise TaskError(f"{key} is set by the run (see RunSpec.seed); leave it out", "config")
    try:
        return cast("Task", reasoning_gym.create_dataset(task.name, seed=seed, **task.config))
    # Tasks check their configuration with assert, with ValueError, and by tripping over it.
    except Exception as error:
        raise TaskError(f"{task.name} does not take config {task.config}: {error}", "config") from error


def task_labels(tasks: Sequence[ReasoningGymTask]) -> tuple[str, ...]:
    """A name for each task that no other one has: its own, with its place where a name is there twice."""
    count = Counter(task.name for task in tasks)
    return tuple(task.name if count[task.name] == 1 else f"{task.name}#{i}" for i, task in enumerate(tasks))


def _unknown(name: str, known: Mapping[str, Any]) -> str:
    close = difflib.get_close_matches(name, known, n=3)
    hint = f"did you mean {' or '.join(close)}?" if close else f"it has {', '.join(sorted(known)[:8])}, …"
    return f"reasoning_gym has no task {name!r}; {hint}"
