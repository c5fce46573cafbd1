"""An endless, reproducible stream of questions, drawn from weighted tasks.

Question i depends on the run's seed, the tasks and i alone, so that a stream can be entered anywhere.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from orchestrator.contracts.data_spec import ReasoningGymTask
from orchestrator.data.tasks import Task, make_task, task_labels
from orchestrator.seeds import derive_seed

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What a task asks, before it becomes tokens."""

    index: int
    """Its place in the stream."""
    task: str
    text: str
    answer: str
    """Empty where the task has a verifier but no one right answer."""
    entry: Mapping[str, Any]
    """What the task's verifier wants to have back."""


class TaskStream:
    """Questions 0, 1, 2, … of a run."""

    def __init__(self, tasks: Sequence[ReasoningGymTask], *, seed: int, lower_case: bool) -> None:
        self._tasks = tasks
        self._labels = task_labels(tasks)
        self._weights = [task.weight for task in tasks]
        self._seed = seed
        self._lower_case = lower_case
        # Tasks are finite, and some refuse an index beyond their size: a new one begins where the last one ends.
        self._made: dict[int, tuple[int, Task]] = {}

    def draw(self, index: int) -> Question | None:
        """Question `index` of the stream, or None when its task fails to make it."""
        position = Random(derive_seed(self._seed, "task", index)).choices(range(len(self._tasks)), self._weights)[0]
        try:
            entry = self._entry(position, index)
        except Exception:
            # Some tasks trip over rare draws of their own. One question less is not worth a run.
            _log.warning("%s made no question %d", self._labels[position], index, exc_info=True)
            return None
        text, answer = str(entry["question"]), entry["answer"]
        if self._lower_case:
            text, answer = text.lower(), answer.lower() if isinstance(answer, str) else answer
            entry = {**entry, "question": text, "answer": answer}
        return Question(
            index=index,
            task=self._labels[position],
            text=text,
            answer="" if answer is None else str(answer),
            entry=entry,
        )

    def _entry(self, position: int, index: int) -> dict[str, Any]:
        life, task = self._made.get(position, (0, None))
        if task is None:
            task = self._make(position, life)
        # All lives are equally long, and some take a tenth of a second to make.
        if index // len(task) != life:
            life = index // len(task)
            task = self._make(position, life)
        self._made[position] = (life, task)
        return task[index % len(task)]

    def _make(self, position: int, life: int) -> Task:
        return make_task(self._tasks[position], derive_seed(self._seed, position, life))
