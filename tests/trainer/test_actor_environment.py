from __future__ import annotations

import os
import subprocess
import sys

import pytest

from trainer.contracts.actor_environment import actor_environment


def tunables(environment: dict[str, str]) -> dict[str, str]:
    return dict(part.split("=", 1) for part in environment["GLIBC_TUNABLES"].split(":"))


def test_tunables_that_are_set_already_stay_and_the_others_join_them() -> None:
    before = {"GLIBC_TUNABLES": "glibc.malloc.mmap_threshold=4096:glibc.malloc.check=3"}
    found = tunables(actor_environment(2, before))
    assert (found["glibc.malloc.mmap_threshold"], found["glibc.malloc.check"]) == ("4096", "3")
    assert found.items() >= (tunables(actor_environment(2, {})) | tunables(before)).items()
    assert actor_environment(2, before)["OMP_NUM_THREADS"] == "2"


def test_the_compiler_is_loaded_only_where_it_may_be_used_or_the_user_says_so() -> None:
    assert actor_environment(1, {})["TORCHDYNAMO_DISABLE"] == "1"
    assert actor_environment(1, {"TORCHDYNAMO_DISABLE": "0"})["TORCHDYNAMO_DISABLE"] == "0"
    assert "TORCHDYNAMO_DISABLE" not in actor_environment(1, {}, may_compile=True)


@pytest.mark.parametrize("before", ["", "glibc.malloc.check", "::", "=", "glibc.malloc.trim_threshold="])
def test_what_the_user_wrote_wrongly_breaks_nothing(before: str) -> None:
    environment = actor_environment(1, {"GLIBC_TUNABLES": before})
    assert "glibc.malloc.mmap_threshold" in tunables(environment)
    started = subprocess.run([sys.executable, "-c", "1"], env=os.environ | environment, check=True, capture_output=True)
    assert started.stderr == b""
