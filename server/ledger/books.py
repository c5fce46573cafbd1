"""Adds up the books of iterations and says where they do not balance. Pure.

Each iteration balances by itself, or it would not have been recorded. Over several it can go wrong all the same: one is
missing, what one carried out is not what the next carried in, or its steps trained other numbers of rollouts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from server.ledger.schemas import Ledger, LedgerEntry, LedgerProblem
from server.rollouts.schemas import IterationBooks

_MAX_PROBLEMS = 100


def ledger_of(
    books: Sequence[IterationBooks],
    trained_by_steps: Mapping[int, int],
    *,
    max_flows: int,
    begins_at: int | None = None,
) -> Ledger:
    """The ledger of consecutive iterations.

    books: by ascending iteration.
    trained_by_steps: rollouts that the recorded steps of an iteration trained, by iteration; those whose steps do not
        tell it are left out.
    max_flows: iterations are put together so that there are no more entries.
    begins_at: the first iteration that should be there; None: whichever is.
    """
    if not books:
        return Ledger(balanced=True, problems=(), num_problems=0, total=None, flows=())
    problems = [*_missing_before(books[0], begins_at), *problems_of(books, trained_by_steps)]
    width = -(-len(books) // max_flows)
    return Ledger(
        balanced=not problems,
        problems=tuple(problems[:_MAX_PROBLEMS]),
        num_problems=len(problems),
        total=entry_of(books),
        flows=tuple(entry_of(books[i : i + width]) for i in range(0, len(books), width)),
    )


def entry_of(books: Sequence[IterationBooks]) -> LedgerEntry:
    """Consecutive iterations as one: what goes from one to the next is inside."""
    filtered: Counter[str] = Counter()
    dropped: Counter[str] = Counter()
    for one in books:
        filtered.update(one.filtered)
        dropped.update(one.dropped)
    return LedgerEntry(
        first_iteration=books[0].iteration,
        last_iteration=books[-1].iteration,
        first_step=next((one.first_step for one in books if one.first_step is not None), None),
        num_iterations=len(books),
        num_carried_in=books[0].num_carried_in,
        num_generated=sum(one.num_generated for one in books),
        num_trained=sum(one.num_trained for one in books),
        filtered=dict(filtered),
        dropped=dict(dropped),
        num_carried_out=books[-1].num_carried_out,
    )


def problems_of(books: Sequence[IterationBooks], trained_by_steps: Mapping[int, int]) -> Iterator[LedgerProblem]:
    """Everything that does not balance."""
    for one in books:
        steps = trained_by_steps.get(one.iteration)
        if steps is not None and steps != one.num_trained:
            yield LedgerProblem(
                iteration=one.iteration,
                detail=f"Iteration {one.iteration} says that {one.num_trained} rollouts were trained; its recorded "
                f"steps trained {steps}.",
            )
    for before, after in pairwise(books):
        if after.iteration != before.iteration + 1:
            yield LedgerProblem(
                iteration=before.iteration + 1,
                detail=f"Iterations {before.iteration + 1} to {after.iteration - 1} are not recorded.",
            )
        elif before.num_carried_out != after.num_carried_in:
            yield LedgerProblem(
                iteration=after.iteration,
                detail=f"Iteration {before.iteration} carried {before.num_carried_out} rollouts on; iteration "
                f"{after.iteration} took {after.num_carried_in} up.",
            )


def _missing_before(first: IterationBooks, begins_at: int | None) -> Iterator[LedgerProblem]:
    if begins_at is not None and first.iteration > begins_at:
        yield LedgerProblem(
            iteration=begins_at, detail=f"Iterations {begins_at} to {first.iteration - 1} are not recorded."
        )
