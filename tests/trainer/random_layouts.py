"""Layouts and cuts of one step, drawn at random and the same every time, so that each kind comes up several times."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from orchestrator.contracts.schedule_spec import Balance, Packer
from trainer.contracts.parallelism_spec import ParallelismSpec

MAX_RANKS = 8

SIZES = {
    "dp": (1, 1, 2, 3, 4),
    "tp": (1, 1, 2, 4),
    "pp": (1, 1, 2, 4),
    "cp": (1, 1, 2, 3),
}


@dataclass(frozen=True, kw_only=True)
class Case:
    """One layout and how the step is cut for it."""

    parallelism: ParallelismSpec
    cut: dict[str, Any] = field(default_factory=dict)
    """Of a `StepGeometry`; empty: a random cut, with dummies anywhere."""
    seed: int

    def __str__(self) -> str:
        told = self.parallelism.model_dump(exclude_defaults=True)
        layout = ", ".join(name if value is True else f"{name} {value}" for name, value in told.items())
        cut = ", ".join(f"{name} {value}" for name, value in self.cut.items())
        return f"{layout or 'dp 1'}; {cut or 'random cut'}"


def random_cases(count: int, *, seed: int) -> list[Case]:
    """Different layouts of 2 to 8 ranks."""
    rng = np.random.default_rng(seed)
    cases: list[Case] = []
    while len(cases) < count:
        parallelism = _random_layout(rng)
        is_new = all(parallelism != case.parallelism for case in cases)
        if parallelism is not None and is_new:
            cases.append(Case(parallelism=parallelism, cut=_random_cut(rng), seed=int(rng.integers(2**31))))
    return cases


def _random_layout(rng: np.random.Generator) -> ParallelismSpec | None:
    sizes = {axis: int(rng.choice(choices)) for axis, choices in SIZES.items()}
    if not 2 <= np.prod(list(sizes.values())) <= MAX_RANKS:
        return None

    def flip() -> bool:
        return bool(rng.integers(2))

    distributed, overlap = flip(), flip()
    return ParallelismSpec(
        **sizes,
        vpp=2 if sizes["pp"] > 1 and flip() else 1,
        sequence_parallel=sizes["tp"] > 1 and flip(),
        distributed_optimizer=distributed,
        overlap_grad_reduce=overlap,
        overlap_param_gather=distributed and overlap,
    )


def _random_cut(rng: np.random.Generator) -> dict[str, Any]:
    balance = Balance(rng.choice([balance.value for balance in Balance]))
    kind = rng.integers(3)
    if kind == 0:
        return {}
    if kind == 1:
        return {"micro_batch_size": int(rng.integers(1, 4)), "balance": balance}
    packer = Packer(rng.choice([packer.value for packer in Packer]))
    return {"token_cap": int(rng.integers(20, 90)), "packer": packer, "balance": balance}
