"""One whole Swell for all tests of the real stack, and one run that has gone through it."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.e2e.swell_stack import TINY, SwellStack


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SwellStack]:
    """A server with a Ray head of its own; both end with the session, whatever the tests left running."""
    stack = SwellStack(home=tmp_path_factory.mktemp("swell") / "home")
    stack.up()
    yield stack
    stack.down()


@pytest.fixture(scope="session")
def finished_run(stack: SwellStack) -> str:
    """The id of a run of a few steps that has succeeded, with mirrors, of which one has no place to write to."""
    stack.taken.touch()
    tracking = [
        {"type": "tensorboard"},
        {"type": "tensorboard", "directory": str(stack.taken / "tensorboard")},
        {"type": "mlflow", "uri": f"file://{stack.home.parent}/mlruns"},
    ]
    settings = ("--set", f"tracking={json.dumps(tracking)}")
    watched = stack.swell("submit", str(TINY), *settings, "--watch", timeout_s=240)
    assert watched.code == 0, f"{watched.out}\n{watched.err}\n{stack.story()}"
    return str(stack.get("/runs", name="tiny")["items"][0]["id"])
