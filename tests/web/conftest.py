"""A server with the built dashboard, and a signed-in browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.server.live_server import LiveServer, running_server
from tests.web.browser import Watched, watched_context


@pytest.fixture
def server(tmp_path: Path) -> Iterator[LiveServer]:
    with running_server(tmp_path / "home") as live:
        yield live


@pytest.fixture
def watched(browser: Browser) -> Iterator[Watched]:
    """Pages whose console must stay clean."""
    with watched_context(browser, viewport={"width": 1600, "height": 1000}) as watched:
        yield watched
        assert watched.errors == []


@pytest.fixture
def page(watched: Watched, server: LiveServer) -> Page:
    """A page of a browser that is signed in."""
    return signed_in(watched, server)


def signed_in(watched: Watched, server: LiveServer) -> Page:
    """An empty page of a browser that has the cookie: what a test looks at is its own to open."""
    watched.context.request.get(login_url(server))
    return watched.open()


def see_runs(page: Page, server: LiveServer) -> None:
    """Opens the list of runs, and waits until it stands: keys that are pressed before are nobody's."""
    page.goto(server.url)
    expect(page.get_by_role("heading", name="Runs", level=1)).to_be_visible()


def login_url(server: LiveServer, base: str | None = None) -> str:
    """A link that logs one browser in, at the server or at another address of it."""
    return (base or server.url) + str(server.http.post("/api/v1/login-links").json()["url"])
