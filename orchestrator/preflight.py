"""What of a RunSpec only the machine can judge: files that must be there, tasks that must exist.

The server calls it at submit, so it is quick and imports nothing heavy; the driver does not need it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil

from orchestrator.contracts.data_spec import ReasoningGymDataSpec, ReasoningGymTask
from orchestrator.contracts.plan import RunPlan
from orchestrator.contracts.run_spec import RunSpec
from orchestrator.data.tasks import TaskError, make_task
from orchestrator.mirrors.libraries import tracking_problems
from trainer.contracts.model_directory import check_weight_files, model_shape
from trainer.contracts.model_spec import HuggingFaceModelSpec, ScratchModelSpec
from trainer.contracts.parallelism_spec import ParallelismSpec, layout_problems

_TOKENIZER_FILES = ("tokenizer.json", "tokenizer.model", "vocab.json")
"""One of them holds the vocabulary, whatever the kind of tokenizer."""

_MAX_PROCESSES_PER_CORE = 8
"""Ranks and engines take turns on few cores, slowly; beyond this they do not even get through their start."""

_BYTES_PER_PARAMETER = 16
"""Weight, gradient and Adam's two moments in fp32: the least that a rank needs, without activations."""

_BYTES_PER_TOKEN = 64
"""Of a rollout in the driver: its id and its log-prob as Python objects, the least that is kept until it is trained."""

_MAX_NUMBER = 2**53 - 1

Problem = tuple[str, str]
"""The dotted path of the field to change, and a sentence."""


def preflight(spec: RunSpec) -> list[Problem]:
    """Everything that would make the run fail at its start, as (field, message); empty when nothing is found."""
    return [*find_wrong(spec), *find_too_large(spec), *tracking_problems(spec.tracking)]


def find_wrong(spec: RunSpec) -> list[Problem]:
    """What no machine with the same files could start."""
    problems: list[Problem] = []
    if isinstance(spec.model, HuggingFaceModelSpec):
        problems += [("model.path", message) for message in _model_problems(Path(spec.model.path))]
        if not problems:
            problems += _training_problems(spec.model, spec.parallelism)
    problems += _number_problems(spec.model_dump(), "")
    problems += _data_problems(spec.data, needs_answers=spec.warm_start is not None)
    return problems


def find_too_large(spec: RunSpec) -> list[Problem]:
    """What this machine is too small for, and a larger one may not be: a plan only warns of it."""
    problems: list[Problem] = []
    if isinstance(spec.model, ScratchModelSpec):
        problems += _memory_problems(spec.model, spec.parallelism)
    problems += _rollout_problems(spec)
    problems += _process_problems(spec.parallelism.world_size, spec.rollout.engine.replicas)
    return problems


def warn_of_this_machine(plan: RunPlan, spec: RunSpec) -> RunPlan:
    """The plan, warning of what this machine is too small for, and of what it lacks."""
    found = (*find_too_large(spec), *tracking_problems(spec.tracking))
    warnings = tuple(f"{field}: {message}." for field, message in found)
    return plan.model_copy(update={"warnings": plan.warnings + warnings})


def _number_problems(value: Any, path: str) -> Iterator[Problem]:
    if isinstance(value, dict):
        for name, item in value.items():
            yield from _number_problems(item, f"{path}.{name}" if path else str(name))
    elif isinstance(value, tuple):
        for i, item in enumerate(value):
            yield from _number_problems(item, f"{path}.{i}")
    elif isinstance(value, int) and abs(value) > _MAX_NUMBER:
        yield path, f"is {value:.3g}; records and browsers hold whole numbers up to 2^53 − 1"


def _rollout_problems(spec: RunSpec) -> Iterator[Problem]:
    num_tokens = spec.rollouts_per_iteration * spec.max_sample_tokens
    needed, there = num_tokens * _BYTES_PER_TOKEN, psutil.virtual_memory().total
    if needed > there:
        message = (
            f"{spec.rollouts_per_iteration:.3g} rollouts an iteration, of up to {spec.max_sample_tokens:.3g} tokens, "
            f"need {needed / 2**30:.3g} GiB, but this machine has {there / 2**30:,.1f} GiB; lower one of "
            "data.rollout_batch_size, rollout.group_size, data.max_prompt_tokens and rollout.max_new_tokens"
        )
        yield "data.rollout_batch_size", message
        yield "rollout.group_size", message


def _process_problems(num_ranks: int, num_engines: int) -> Iterator[Problem]:
    cores = os.cpu_count() or 1
    most = _MAX_PROCESSES_PER_CORE * cores
    for field, what, count in (
        ("parallelism.dp", "dp × tp × pp × cp", num_ranks),
        ("rollout.engine.replicas", "rollout.engine.replicas", num_engines),
    ):
        if count > most:
            yield field, f"{what} = {count} processes, but this machine has {cores} cores; take at most {most}"


def _memory_problems(model: ScratchModelSpec, parallelism: ParallelismSpec) -> Iterator[Problem]:
    per_layer = 2 * model.hidden_size**2 + 3 * model.hidden_size * model.ffn_hidden_size
    num_parameters = model.num_layers * per_layer + model.vocab_size * model.hidden_size
    copies, there = parallelism.dp * parallelism.cp, psutil.virtual_memory().total
    needed = num_parameters * _BYTES_PER_PARAMETER * copies
    if needed > there:
        yield (
            "model.hidden_size",
            f"at least {num_parameters:,} parameters on dp={parallelism.dp} × cp={parallelism.cp} need "
            f"{needed / 2**30:,.1f} GiB, but this machine has {there / 2**30:,.1f} GiB; lower model.hidden_size, "
            "model.num_layers or parallelism.dp",
        )


def _model_problems(path: Path) -> Iterator[str]:
    if not path.is_dir():
        yield f"{path} is not a directory on this machine; give a model directory in Hugging Face's format"
        return
    if not any(path.glob("*.safetensors")):
        yield f"{path} holds no .safetensors file"
    if not any((path / name).is_file() for name in _TOKENIZER_FILES):
        yield f"{path} holds no tokenizer: one of {', '.join(_TOKENIZER_FILES)} is needed"
    yield from _config_problems(path / "config.json")


def _config_problems(path: Path) -> Iterator[str]:
    if not path.is_file():
        yield f"{path.parent} holds no config.json"
        return
    try:
        config = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        yield f"{path} is not JSON: {error}"
        return
    if not isinstance(config, dict) or "model_type" not in config:
        yield f"{path} does not say its model_type"


def _training_problems(model: HuggingFaceModelSpec, parallelism: ParallelismSpec) -> Iterator[Problem]:
    """Whether the model can be trained, be cut as the layout asks, and has all its weights."""
    try:
        shape = model_shape(model)
    except ValueError as error:
        yield "model.path", f"{model.path}: {error}"
        return
    for problem in layout_problems(shape, parallelism):
        for axis in problem.axes:
            yield f"parallelism.{axis}", f"{problem.message} of {Path(model.path) / 'config.json'}; lower it"
    try:
        check_weight_files(model)
    except ValueError as error:
        yield "model.path", str(error)


def _data_problems(data: ReasoningGymDataSpec, *, needs_answers: bool) -> Iterator[Problem]:
    for i, task in enumerate(data.tasks):
        try:
            _try_out(task, needs_answers)
        except TaskError as error:
            yield f"data.tasks.{i}.{error.field}", str(error)


def _try_out(task: ReasoningGymTask, needs_answers: bool) -> None:
    made = make_task(task, seed=0)
    try:
        entry = made[0]
    # A configuration may pass the task's own check and still be one that it cannot make entries from.
    except Exception as error:
        raise TaskError(f"{task.name} makes no entry with config {task.config}: {error!r}", "config") from error
    if needs_answers and not isinstance(entry["answer"], str):
        raise TaskError(
            f"{task.name} has a verifier but no right answer to learn from; leave warm_start out or take another task",
            "name",
        )
