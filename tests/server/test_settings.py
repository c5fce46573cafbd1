from __future__ import annotations

from pathlib import Path

import pytest

from server.settings import DEFAULT_PORT, Settings


def test_an_empty_environment_gives_the_defaults() -> None:
    settings = Settings.from_environment({})
    assert (settings.host, settings.port, settings.max_active_runs) == ("127.0.0.1", DEFAULT_PORT, 1)
    assert settings.home == Path("~/.swell").expanduser()


def test_the_environment_says_where_and_how_much() -> None:
    told = {"SWELL_HOME": "/data", "SWELL_PORT": "0", "SWELL_MAX_ACTIVE_RUNS": "3", "SWELL_ALLOWED_HOSTS": "a,b"}
    settings = Settings.from_environment(told)
    assert (settings.port, settings.max_active_runs, settings.allowed_hosts) == (0, 3, ("a", "b"))


@pytest.mark.parametrize(
    ("name", "value"),
    [("SWELL_PORT", "eighty"), ("SWELL_PORT", "65536"), ("SWELL_PORT", "８"), ("SWELL_MAX_ACTIVE_RUNS", "0")],
)
def test_a_number_that_cannot_be_is_named(name: str, value: str) -> None:
    with pytest.raises(ValueError, match=f"{name}='{value}' must be a number"):
        Settings.from_environment({name: value})
