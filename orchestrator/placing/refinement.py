"""Refinement: exchanges that lower the heaviest rank, until it meets its bound or no exchange helps.

Called by the scheduler after distribution. It keeps the cap and never makes more micro-batches than it may.
"""

from __future__ import annotations

from collections.abc import Sequence

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
# Each exchange settles about one rank; a step that needs more than this per rank gains nothing that can be measured.
EXCHANGES_PER_RANK = 8
# Bundles are many: only so many searches are worth their time, each among the lightest ranks.
BUNDLE_SEARCHES_PER_RANK = 4
MOST_BUNDLE_PARTNERS = 8
MOST_BRIEF_PARTNERS = 4


class Refinement:
    """Ranks under change."""

    def __init__(
        self,
        ranks: Ranks,
        *,
        loads: SampleLoads,
        cap: int,
        most_micro_batches: int,
        equal_counts: bool,
        moves_samples: bool = True,
        is_brief: bool = False,
    ) -> None:
        """Take over the ranks and their micro-batches, which change from now on.

        most_micro_batches: over all ranks.
        equal_counts: whether every rank runs equally many, dummies included, so that nothing is won by having fewer.
        moves_samples: whether samples may change micro-batches; otherwise only whole ones change ranks.
        is_brief: give up early, for one of many small parts of a step.
        """
        self._ranks = ranks
        self._loads = loads
        self._cap = cap
        self._num_openable = most_micro_batches - sum(map(len, ranks))
        self._most_per_rank = most_micro_batches // len(ranks) if equal_counts else most_micro_batches
        self._may_close = not equal_counts
        self._moves_samples = moves_samples
        self._num_exchanges = len(ranks) * (1 if is_brief else EXCHANGES_PER_RANK)
        self._num_bundle_searches = BUNDLE_SEARCHES_PER_RANK * len(ranks) if moves_samples and not is_brief else 0
        self._most_partners = MOST_BRIEF_PARTNERS if is_brief else len(ranks)
        self._costs = rank_costs(ranks)
        self._mean = sum(self._costs) / len(ranks)

    def run(self, goal: float) -> float:
        """Lower the heaviest rank to the goal, or as far as it goes, and return its cost."""
        for _ in range(self._num_exchanges):
            *lighter, heavy = sorted(range(len(self._ranks)), key=self._costs.__getitem__)
            if self._costs[heavy] <= goal:
                break
            if not any(self._relieve(heavy, light) for light in lighter[: self._most_partners]) and not any(
                self._relieve_by_bundles(heavy, light) for light in lighter[:MOST_BUNDLE_PARTNERS]
            ):
                break
        return max(self._costs)

    def _relieve(self, heavy: int, light: int) -> bool:
        """Do the best exchange between two ranks; False when none helps."""
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
        """Exchange up to two samples for up to two; False when that does not help or was tried often enough."""
        if self._num_bundle_searches == 0:
            return False
        self._num_bundle_searches -= 1
        exchange = best_bundle_exchange(
            self._ranks[heavy], self._ranks[light], self._aim(heavy, light), self._loads, self._cap
        )
        if exchange is None:
            return False
        self._exchange_samples(heavy, light, exchange)
        self._weigh_again(heavy, light)
        return True

    def _weigh_again(self, *ranks: int) -> None:
        for rank in ranks:
            self._costs[rank] = sum(micro_batch.cost for micro_batch in self._ranks[rank])

    def _aim(self, heavy: int, light: int) -> Aim:
        above, below = self._costs[heavy] - self._mean, self._mean - self._costs[light]
        may_move = len(self._ranks[light]) < self._most_per_rank
        return Aim(
            # One of the two should end at the mean and need no further exchange.
            wanted=min(above, below) if below > 0 else (above + below) / 2,
            most=above + below,
            may_move=may_move,
            may_open=may_move and self._num_openable > 0,
            may_close=self._may_close,
        )

    def _best_exchange(
        self, heavy: Sequence[MicroBatch], light: Sequence[MicroBatch], aim: Aim
    ) -> MicroBatchExchange | SampleExchange | None:
        samples = best_sample_exchange(heavy, light, aim, self._loads, self._cap) if self._moves_samples else None
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
