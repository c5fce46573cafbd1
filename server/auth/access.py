"""Who asks (`Principal`), what a route demands (`Access`), and whether the two fit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeVar

Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])
_RULE = "__swell_access__"


class Access(StrEnum):
    """What a route demands, and what a token grants."""

    PUBLIC = "public"
    """Nothing. Only for what tells nothing of any run."""
    READ = "read"
    """To see everything and change nothing."""
    WRITE = "write"
    """To see everything, and to submit, change and end runs."""
    ADMIN = "admin"
    """Everything, tokens included."""
    INGEST = "ingest"
    """To record one attempt of one run, and nothing else."""


_GRANTED = {Access.READ: (Access.READ,), Access.WRITE: (Access.READ, Access.WRITE)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """Who asks."""

    access: Access
    name: str
    run_id: str | None = None
    """The run and the attempt that an ingest token is for."""
    attempt: int | None = None

    def may(self, demanded: Access, *, run_id: str | None) -> bool:
        """Whether this principal may use a route with that rule. run_id: the run in the route's path, if any."""
        if demanded is Access.PUBLIC or self.access is Access.ADMIN:
            return True
        if demanded is Access.INGEST:
            return self.access is Access.INGEST and self.run_id == run_id
        return demanded in _GRANTED.get(self.access, ())

    def may_record(self, attempt: int) -> bool:
        return self.access is Access.ADMIN or self.attempt == attempt


def requires(access: Access) -> Callable[[Endpoint], Endpoint]:
    """Declare the rule of an endpoint. A route whose endpoint has none cannot be built."""

    def declare(endpoint: Endpoint) -> Endpoint:
        setattr(endpoint, _RULE, access)
        return endpoint

    return declare


def rule_of(endpoint: Callable[..., Any]) -> Access:
    """Raises TypeError when the endpoint declares no rule."""
    rule = getattr(endpoint, _RULE, None)
    if not isinstance(rule, Access):
        raise TypeError(f"{endpoint.__module__}.{endpoint.__qualname__} has no rule: decorate it with @requires(...)")
    return rule
