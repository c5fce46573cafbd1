"""Refinement: exchanges that lower the heaviest rank, until it meets its bound or no exchange helps.

Called by the scheduler after distribution. It keeps the cap and never makes more micro-batches than it may.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from orchestrator.placing.bundle_exchange import best_bundle_exchange
from orchestrator.placing.exchange import (
    Aim,
    MicroBatchExchange,
    SampleExchange,
    best_micro_batch_exchange,
    best_sample_exchange,
)
from orchestrator.placing.micro_batch import MicroBatch, Ranks, SampleLoads, rank_costs

# An exchange of samples that misses its aim by less than this part is taken at once.
CLOSE_ENOUGH = 0.02
# Ranks whose costs differ by less than this part of the mean hold the same lengths: only sums were rounded otherwise.
SAME_COST = 1e-9
# Bundles are many: a search among them takes as long as several others and is worth it only among the lightest ranks.
SEARCHES_PER_BUNDLE_SEARCH = 4
MOST_BUNDLE_PARTNERS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class RefinementLimits:
    """What refinement may do to a step, and how long it may look for it."""

    cap: int
    most_micro_batches: int
    """Over all ranks."""
    equal_counts: bool
    """Whether every rank runs equally many, dummies included, so that nothing is won by having fewer."""
    moves_samples: bool = True
    """Whether samples may change micro-batches; otherwise only whole ones change ranks."""
    most_searches: int
    """Pairs of ranks to search for an exchange: a count, not a time, so that the same step ends up the same."""
    most_partners: int | None = None
    """Ranks to try with one heavy rank; None: all."""


class Refinement:
    """Ranks under change."""

    def __init__(self, ranks: Ranks, loads: SampleLoads, limits: RefinementLimits) -> None:
        """Take over the ranks and their micro-batches, which change from now on."""
        self._ranks = ranks
        self._loads = loads
        self._limits = limits
        self._num_openable = limits.most_micro_batches - sum(map(len, ranks))
        self._costs = rank_costs(ranks)
        self._mean = sum(self._costs) / len(ranks)
        self._ascending = sorted((cost, rank) for rank, cost in enumerate(self._costs))
        self.num_searches = 0
        """How many it took so far; the last one, if among bundles, may exceed the most."""

    def run(self, goal: float) -> float:
        """Lower the heaviest rank to the goal, or as far as it goes, and return its cost."""
        while self._ascending[-1][0] > goal and self._relieve_heaviest():
            pass
        return self._ascending[-1][0]

    def _relieve_heaviest(self) -> bool:
        heavy = self._ascending[-1][1]
        partners = islice(self._unlike_partners(), self._limits.most_partners)
        if any(self._relieve(heavy, light) for light in partners):
            return True
        if not self._limits.moves_samples:
            return False
        return any(
            self._relieve_by_bundles(heavy, light) for light in islice(self._unlike_partners(), MOST_BUNDLE_PARTNERS)
        )

    def _unlike_partners(self) -> Iterator[int]:
        """Lighter ranks, lightest first, while there are searches left; of ranks that cost the same only one.

        Where there are few lengths, hundreds of ranks hold the same ones: what fails with one fails with all.
        """
        previous = float("-inf")
        for cost, rank in self._ascending[:-1]:
            if self.num_searches >= self._limits.most_searches:
                return
            if cost - previous > SAME_COST * self._mean:
                previous = cost
                yield rank

    def _relieve(self, heavy: int, light: int) -> bool:
        """Do the best exchange between two ranks; False when none helps."""
        self.num_searches += 1
        exchange = self._best_exchange(self._ranks[heavy], self._ranks[light], self._aim(heavy, light))
        match exchange:
            case None:
                return False
            case MicroBatchExchange():
                self._exchange_micro_batches(heavy, light, exchange)
            case SampleExchange():
                self._exchange_samples(heavy, light, exchange)
        self._weigh_again(heavy, light)
        return True

    def _relieve_by_bundles(self, heavy: int, light: int) -> bool:
        """Exchange up to two samples for up to two; False when that does not help."""
        self.num_searches += SEARCHES_PER_BUNDLE_SEARCH
        exchange = best_bundle_exchange(
            self._ranks[heavy], self._ranks[light], self._aim(heavy, light), self._loads, self._limits.cap
        )
        if exchange is None:
            return False
        self._exchange_samples(heavy, light, exchange)
        self._weigh_again(heavy, light)
        return True

    def _weigh_again(self, *ranks: int) -> None:
        for rank in ranks:
            del self._ascending[bisect_left(self._ascending, (self._costs[rank], rank))]
            self._costs[rank] = sum(micro_batch.cost for micro_batch in self._ranks[rank])
            insort(self._ascending, (self._costs[rank], rank))

    def _aim(self, heavy: int, light: int) -> Aim:
        above, below = self._costs[heavy] - self._mean, self._mean - self._costs[light]
        may_move = len(self._ranks[light]) < self._most_per_rank
        return Aim(
            # One of the two should end at the mean and need no further exchange.
            wanted=min(above, below) if below > 0 else (above + below) / 2,
            most=above + below,
            may_move=may_move,
            may_open=may_move and self._num_openable > 0,
            may_close=not self._limits.equal_counts,
        )

    @property
    def _most_per_rank(self) -> int:
        most = self._limits.most_micro_batches
        return most // len(self._ranks) if self._limits.equal_counts else most

    def _best_exchange(
        self, heavy: Sequence[MicroBatch], light: Sequence[MicroBatch], aim: Aim
    ) -> MicroBatchExchange | SampleExchange | None:
        samples = (
            best_sample_exchange(heavy, light, aim, self._loads, self._limits.cap)
            if self._limits.moves_samples
            else None
        )
        if samples is not None and samples.miss <= CLOSE_ENOUGH * aim.wanted:
            return samples
        micro_batches = best_micro_batch_exchange(heavy, light, aim)
        if micro_batches is None or (samples is not None and samples.miss <= micro_batches.miss):
            return samples
        return micro_batches

    def _exchange_micro_batches(self, heavy: int, light: int, exchange: MicroBatchExchange) -> None:
        given = self._ranks[heavy].pop(exchange.given)
        if exchange.taken is not None:
            self._ranks[heavy].append(self._ranks[light].pop(exchange.taken))
        self._ranks[light].append(given)

    def _exchange_samples(self, heavy: int, light: int, exchange: SampleExchange) -> None:
        giver = self._ranks[heavy][exchange.giver]
        if exchange.taker is None:
            self._ranks[light].append(MicroBatch(samples=[], size=0, cost=self._loads.overhead))
            self._num_openable -= 1
        taker = self._ranks[light][-1 if exchange.taker is None else exchange.taker]
        for sample in exchange.given:
            self._move(sample, giver, taker)
        for sample in exchange.taken:
            self._move(sample, taker, giver)
        if not giver.samples:
            del self._ranks[heavy][exchange.giver]
            self._num_openable += 1

    def _move(self, sample: int, origin: MicroBatch, target: MicroBatch) -> None:
        origin.samples.remove(sample)
        target.samples.append(sample)
        size, cost = self._loads.size.item(sample), self._loads.cost.item(sample)
        origin.size -= size
        target.size += size
        origin.cost -= cost
        target.cost += cost
