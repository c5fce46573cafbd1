"""A spec that cannot work is refused at submit, with its fields named, by REST and command line alike."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.e2e.swell_stack import TINY, SwellStack

pytestmark = pytest.mark.stack

BAD = {
    "unknown field": ({"iterationz": 3}, ["/iterationz"]),
    "unknown field inside": ({"batch": {"type": "all", "size": 3}}, ["/batch/size"]),
    "dp that does not divide the ranks": (
        {"parallelism": {"dp": 3, "num_ranks": 4}},
        ["/parallelism/dp", "/parallelism/num_ranks"],
    ),
    "missing file": ({"model": {"type": "huggingface", "path": "/no/such/model"}}, ["/model/path"]),
    "impossible batch plan": (
        {"batch": {"type": "fixed", "global_batch_size": 64, "remainder": "drop"}},
        ["/batch/global_batch_size", "/data/rollout_batch_size", "/rollout/group_size"],
    ),
}


def bad_spec(changes: dict[str, Any]) -> dict[str, Any]:
    spec: dict[str, Any] = yaml.safe_load(TINY.read_text())
    return spec | {"name": "bad"} | changes


@pytest.mark.parametrize(("changes", "pointers"), BAD.values(), ids=BAD.keys())
def test_rest_answers_422_and_names_the_fields(stack: SwellStack, changes: dict[str, Any], pointers: list[str]) -> None:
    answer = stack.post("/runs", bad_spec(changes))
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"
    assert [error["pointer"] for error in answer.json()["errors"]] == pointers
    assert stack.get("/runs", name="bad")["total"] == 0


@pytest.mark.parametrize(("changes", "pointers"), BAD.values(), ids=BAD.keys())
def test_the_command_line_names_the_fields_and_their_lines(
    stack: SwellStack, tmp_path: Path, changes: dict[str, Any], pointers: list[str]
) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(yaml.safe_dump(bad_spec(changes), sort_keys=False))
    refused = stack.swell("submit", str(path))
    assert (refused.code, refused.out) == (2, "")
    for pointer in pointers:
        key = pointer.rpartition("/")[2]
        field = pointer[1:].replace("/", ".")
        lines = [k for k, text in enumerate(path.read_text().splitlines(), 1) if text.strip().startswith(f"{key}:")]
        assert any(f"{path}:{line}  {field}: " in refused.err for line in lines)


def test_a_spec_file_that_is_not_there_is_named(stack: SwellStack) -> None:
    missing = stack.swell("submit", "no-such.yaml")
    assert missing.code == 2
    assert "no-such.yaml" in missing.err
