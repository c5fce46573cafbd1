"""Resources that tests of several packages share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.web.browser import WEB, running_browser


@pytest.fixture(scope="session")
def local_ray() -> Iterator[None]:
    """The one Ray of this process: a second `ray.init` would fail, in whatever order the tests run."""
    import ray

    ray.init(
        address="local",
        num_cpus=4,
        include_dashboard=False,
        configure_logging=False,
        log_to_driver=False,
        namespace="tests",
    )
    yield
    ray.shutdown()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A Chromium for a module: Playwright holds an event loop, which other modules' tests want to themselves."""
    assert (WEB / "dist" / "index.html").is_file(), "the dashboard is not built: run `make web`"
    with running_browser() as browser:
        yield browser
