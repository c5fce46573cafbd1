from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from tests.server.live_server import LiveServer


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    """The document as the command writes it."""
    done = subprocess.run([sys.executable, "-m", "server.openapi"], capture_output=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def operations(document: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    return [(method, path, op) for path, methods in document["paths"].items() for method, op in methods.items()]


def test_operations_have_short_names_of_their_own_and_a_sentence(document: dict[str, Any]) -> None:
    ids = [operation["operationId"] for _, _, operation in operations(document)]
    assert len(ids) == len(set(ids))
    assert all(name.isidentifier() and name[0].islower() and "_" not in name for name in ids)
    assert all(operation["description"].endswith(".") for _, _, operation in operations(document))


def test_every_operation_tells_its_problems(document: dict[str, Any]) -> None:
    for _, path, operation in operations(document):
        content = operation["responses"]["default"]["content"]
        assert content["application/problem+json"]["schema"] == {"$ref": "#/components/schemas/Problem"}, path
        assert "422" not in operation["responses"]


def test_every_reference_leads_somewhere(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    text = json.dumps(document)
    named = {part.split('"')[0] for part in text.split("#/components/schemas/")[1:]}
    assert named <= set(schemas)
    assert "HTTPValidationError" not in schemas


def test_the_live_events_are_a_union_told_apart_by_name(document: dict[str, Any]) -> None:
    union = document["components"]["schemas"]["LiveEvent"]
    assert [member["$ref"].rpartition("/")[2] for member in union["oneOf"]] == [
        "RunEvent",
        "StepsEvent",
        "ResyncEvent",
        "EventNewsEvent",
        "LogNewsEvent",
        "IterationNewsEvent",
        "CheckpointNewsEvent",
    ]


@pytest.mark.stack
def test_the_server_serves_the_same_document_and_a_page_without_scripts(
    sqlite_server: LiveServer, document: dict[str, Any]
) -> None:
    assert sqlite_server.http.get("/openapi.json").json() == document
    page = sqlite_server.http.get("/docs").text
    assert "/api/v1/metrics/query" in page
    assert "<script" not in page
