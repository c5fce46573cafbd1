"""What the API says of the books of a run."""

from __future__ import annotations

from trainer.contracts.text_model import TextModel


class LedgerEntry(TextModel):
    """Rollouts of consecutive iterations by what became of them.

    It balances where carried in + generated = trained + filtered + dropped + carried out.
    """

    first_iteration: int
    last_iteration: int
    first_step: int | None
    """The first that these iterations trained; null: none."""
    num_iterations: int
    num_carried_in: int
    """By the first of them."""
    num_generated: int
    num_trained: int
    filtered: dict[str, int]
    """Rollouts by reason."""
    dropped: dict[str, int]
    num_carried_out: int
    """By the last of them."""


class LedgerProblem(TextModel):
    """Where the books do not balance."""

    iteration: int
    detail: str


class Ledger(TextModel):
    """The books of a run, or of a range of it, in the current view: superseded attempts are left out."""

    balanced: bool
    problems: tuple[LedgerProblem, ...]
    """At most 100 of them."""
    num_problems: int
    total: LedgerEntry | None
    """Null: no iteration is recorded in the range."""
    flows: tuple[LedgerEntry, ...]
    """By ascending iteration; several iterations together where there are many."""
