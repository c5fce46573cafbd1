"""Sample lengths to measure with, like those that reinforcement learning of language models meets."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt

Draw = Callable[[np.random.Generator, int], npt.NDArray[np.float64]]


def lognormal(rng: np.random.Generator, count: int) -> npt.NDArray[np.float64]:
    """Mean 2,500, sigma 0.8: many short answers, a heavy tail of long ones."""
    sigma = 0.8
    return rng.lognormal(np.log(2500) - sigma**2 / 2, sigma, count)


def bimodal(rng: np.random.Generator, count: int) -> npt.NDArray[np.float64]:
    """Four of five answers short, the fifth with long reasoning."""
    return np.where(rng.random(count) < 0.8, rng.normal(800, 150, count), rng.normal(9000, 1500, count))


def agentic(rng: np.random.Generator, count: int) -> npt.NDArray[np.float64]:
    """Groups of eight whose prompt decides most of the length, so that neighbours are alike."""
    prompts = rng.lognormal(np.log(3000), 0.9, -(-count // 8))
    return np.repeat(prompts, 8)[:count] * rng.lognormal(0, 0.25, count)


DISTRIBUTIONS: Mapping[str, Draw] = {"lognormal": lognormal, "bimodal": bimodal, "agentic": agentic}


def draw_lengths(distribution: str, count: int, *, longest: int, seed: int = 0) -> list[int]:
    """Whole numbers from 1 to `longest`."""
    drawn = DISTRIBUTIONS[distribution](np.random.default_rng(seed), count)
    lengths: list[int] = np.clip(drawn, 1, longest).astype(int).tolist()
    return lengths
