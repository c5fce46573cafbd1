"""Processes in which Megatron ranks come and go: a group of ranks for each layout, without starting processes anew.

Importing torch and Megatron takes seconds and a layout's step takes a fraction of one, so the processes are forked from
a server that has imported them, and live through many layouts.
"""

from __future__ import annotations

import multiprocessing
import traceback
import warnings
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection, wait
from typing import Any, TypeVar

from trainer.contracts.trainer_spec import TrainerSpec

ResultT = TypeVar("ResultT")

COLLECTIVE_TIMEOUT_S = 60.0
ANSWER_TIMEOUT_S = 120.0


class RankPool:
    """Runs a function on every rank of a layout."""

    def __init__(self) -> None:
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(["tests.trainer.rank_imports"])
        self._processes: list[Any] = []
        self._pipes: list[Connection] = []

    def run(self, spec: TrainerSpec, function: Callable[..., ResultT], *args: Any) -> list[ResultT]:
        """`function(member, rank, *args)` on a fresh MegatronRank each; results in the order of the ranks.

        function: of a module, since it crosses processes.
        """
        world_size = spec.parallelism.world_size
        self._grow(world_size)
        first, *others = self._pipes[:world_size]
        first.send((spec, 0, None, function, args))
        port = self._receive([first])[0]
        for rank, pipe in enumerate(others, start=1):
            pipe.send((spec, rank, port, function, args))
        return self._receive([first, *others])

    def close(self) -> None:
        for pipe in self._pipes:
            pipe.send(None)
        for process in self._processes:
            process.join(timeout=10)

    def _grow(self, size: int) -> None:
        while len(self._processes) < size:
            ours, theirs = self._context.Pipe()
            process = self._context.Process(target=_work, args=(theirs,), daemon=True)
            process.start()
            theirs.close()
            self._processes.append(process)
            self._pipes.append(ours)

    def _receive(self, pipes: Sequence[Connection]) -> list[Any]:
        """One answer of each; the first failure is raised at once, since the others may wait for that rank in vain."""
        answers: dict[int, Any] = {}
        pending = list(pipes)
        while pending:
            ready = wait(pending, timeout=ANSWER_TIMEOUT_S)
            if not ready:
                raise TimeoutError(f"{len(pending)} ranks gave no answer in {ANSWER_TIMEOUT_S} s")
            for pipe in ready:
                is_good, answer = pipe.recv()  # type: ignore[union-attr]
                if not is_good:
                    # The groups of these processes are broken.
                    for process in self._processes:
                        process.kill()
                    self._processes, self._pipes = [], []
                    raise RuntimeError(answer)
                answers[pipes.index(pipe)] = answer  # type: ignore[arg-type]
                pending.remove(pipe)  # type: ignore[arg-type]
        return [answers[i] for i in range(len(pipes))]


def _work(pipe: Connection) -> None:
    """One process: a rank of one layout after the other."""
    warnings.simplefilter("ignore")
    while (task := pipe.recv()) is not None:
        try:
            pipe.send((True, _run(pipe, *task)))
        except Exception:  # the edge of the process
            pipe.send((False, traceback.format_exc()))


def _run(
    pipe: Connection, spec: TrainerSpec, rank: int, port: int | None, function: Callable[..., Any], args: Any
) -> Any:
    from trainer.rank import MegatronRank

    member = MegatronRank(spec, rank=rank, device_type="cpu", num_threads=1, collective_timeout_s=COLLECTIVE_TIMEOUT_S)
    if port is None:
        port = member.open_store("127.0.0.1")
        pipe.send((True, port))
    member.join("127.0.0.1", port)
    try:
        return function(member, rank, *args)
    finally:
        member.leave()
