from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field

from server.auth.access import Access, Principal
from server.auth.standing import StandingAccess

SOMEBODY = Principal(access=Access.READ, name="somebody")


@dataclass
class World:
    """A session that ends at a moment, a token that does not, and an answer of a part each ten seconds."""

    now_s: float = 1000.0
    session_ends_at_s: float = 1_000_000.0
    revoke_at_s: dict[float, set[str]] = field(default_factory=dict)
    revoked: set[str] = field(default_factory=set)
    num_ended: int = 0
    asked_at_s: list[float] = field(default_factory=list)
    is_closed: bool = False

    def remembered(self, token: str) -> Principal | None:
        return SOMEBODY if token == "kept" and token not in self.revoked else None

    def principal(self, token: str) -> Principal | None:
        self.asked_at_s.append(self.now_s)
        holds = token == "session" and token not in self.revoked and self.now_s < self.session_ends_at_s
        return SOMEBODY if holds else None

    async def parts(self) -> AsyncGenerator[bytes]:
        try:
            while self.now_s < 2000:
                self.now_s += 10
                ended = self.revoke_at_s.get(self.now_s, set())
                self.revoked |= ended
                self.num_ended += len(ended)
                yield str(int(self.now_s)).encode()
        finally:
            self.is_closed = True

    def heard_until(self, token: str) -> int:
        """When the last part came that was let through."""

        async def listen() -> int:
            access = StandingAccess(self, token, clock=lambda: self.now_s)
            return [int(part) async for part in access.while_it_holds(self.parts())][-1]

        return asyncio.run(listen())


def test_a_session_that_ends_by_its_time_is_heard_no_longer_than_a_minute_more() -> None:
    world = World(session_ends_at_s=1125)
    # Looked at when 60 s have passed since the last time: at 1060, 1120 and 1180.
    assert world.heard_until("session") == 1170
    assert world.asked_at_s == [1060, 1120, 1180]
    assert world.is_closed


def test_a_session_that_holds_is_heard_to_the_end_and_asked_for_once_a_minute() -> None:
    world = World()
    assert world.heard_until("session") == 2000
    assert world.asked_at_s == [float(at) for at in range(1060, 2001, 60)]


def test_a_token_that_does_not_end_by_itself_needs_no_database() -> None:
    world = World()
    assert world.heard_until("kept") == 2000
    assert world.asked_at_s == []


def test_what_is_revoked_is_not_heard_any_more() -> None:
    for token in ("session", "kept"):
        assert World(revoke_at_s={1030: {token}}).heard_until(token) == 1020


def test_when_another_token_is_revoked_one_looks_at_once_and_counts_the_minute_from_there() -> None:
    world = World(revoke_at_s={1030: {"another"}})
    assert world.heard_until("session") == 2000
    assert world.asked_at_s[:3] == [1030, 1090, 1150]
