"""Resources that tests of several packages share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


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
