"""The lengths that a plan assumes: known, declared or guessed, never longer than the spec allows. Drawn by seed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from orchestrator.contracts.plan import ConstantLengths, Lengths, ListedLengths, LognormalLengths, RunLengths
from trainer.contracts.text_model import FieldError

_GUESSED_SIGMA = 0.5
_MOST_TOKENS = 2**40
"""A spec has no upper limit; sums of 64-bit lengths have."""
_SUMMED_TOKENS = 256
"""So many lengths are summed one by one; among longer ones rounding no longer moves the mean."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownLengths:
    """Lengths that occurred. Drawn from with replacement."""

    num_tokens: npt.NDArray[np.int64]  # [N], at least one
    source: str
    """Where they come from, as a sentence can say it."""
    num_cut: int
    """How many of them were longer than the spec allows."""

    @property
    def mean(self) -> float:
        return float(self.num_tokens.mean())

    def draw(self, count: int, random: np.random.Generator) -> npt.NDArray[np.int64]:
        return random.choice(self.num_tokens, size=count)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredLengths:
    """A lognormal distribution of at most `longest` tokens; longer draws are cut."""

    uncut_mean: float
    sigma: float
    longest: int
    source: str

    @property
    def mean(self) -> float:
        """Of what is drawn: whole tokens, from 1 to `longest`."""
        if self.sigma == 0:
            return float(min(max(round(self.uncut_mean), 1), self.longest))
        # A mean of whole numbers from 1 on is 1 + Σ P(at least k + 1); k + 1 is what k + ½ and more are rounded to.
        last = min(_SUMMED_TOKENS, self.longest)
        summed = 1 + math.fsum(self._frac_above(k + 0.5) for k in range(1, last))
        return summed + self._mean_below(self.longest) - self._mean_below(last)

    @property
    def frac_cut(self) -> float:
        """Share of the draws that are longer."""
        if self.sigma == 0:
            return float(self.uncut_mean > self.longest)
        return self._frac_above(self.longest)

    def draw(self, count: int, random: np.random.Generator) -> npt.NDArray[np.int64]:
        drawn = random.lognormal(self._log_mean, self.sigma, size=count)
        return np.clip(np.rint(drawn), 1, self.longest).astype(np.int64)

    def _frac_above(self, tokens: float) -> float:
        return 1 - _normal_cdf((math.log(tokens) - self._log_mean) / self.sigma)

    def _mean_below(self, longest: int) -> float:
        """E[min(X, longest)] of the lengths before they are rounded: the integral of `_frac_above` from 0 on."""
        to_cut = (math.log(longest) - self._log_mean) / self.sigma
        return self.uncut_mean * _normal_cdf(to_cut - self.sigma) + longest * (1 - _normal_cdf(to_cut))

    @property
    def _log_mean(self) -> float:
        return math.log(self.uncut_mean) - self.sigma**2 / 2


SampleLengths = KnownLengths | DeclaredLengths


def prepare_lengths(lengths: Lengths | None, *, longest: int, run_lengths: Sequence[int] | None) -> SampleLengths:
    """Make the asked lengths ready to draw from.

    longest: tokens of the longest sample that the spec allows.
    run_lengths: what the caller found for a `RunLengths`.

    Raises:
        FieldError: an earlier run has no lengths.
    """
    longest = min(longest, _MOST_TOKENS)
    match lengths:
        case None:
            source = f"half of the longest sample that the spec allows, {longest} tokens, with sigma {_GUESSED_SIGMA}"
            return DeclaredLengths(uncut_mean=longest / 2, sigma=_GUESSED_SIGMA, longest=longest, source=source)
        case LognormalLengths(mean=mean, sigma=sigma):
            source = f"a mean of {mean:g} tokens with sigma {sigma:g}"
            return DeclaredLengths(uncut_mean=mean, sigma=sigma, longest=longest, source=source)
        case ConstantLengths(num_tokens=num_tokens):
            return _known([num_tokens], longest, f"{num_tokens} tokens for every sample")
        case ListedLengths(num_tokens=listed):
            return _known(listed, longest, f"the {len(listed):,} given ones")
        case RunLengths(run=run):
            if not run_lengths:
                raise FieldError(f"The run {run!r} has no samples whose lengths could be taken.", "lengths.run")
            return _known(run_lengths, longest, f"the {len(run_lengths):,} samples of the run {run!r}")


def _known(num_tokens: Sequence[int], longest: int, source: str) -> KnownLengths:
    given = np.asarray(num_tokens, dtype=np.int64)
    return KnownLengths(num_tokens=np.minimum(given, longest), source=source, num_cut=int((given > longest).sum()))


def _normal_cdf(x: float) -> float:
    return (1 + math.erf(x / math.sqrt(2))) / 2
