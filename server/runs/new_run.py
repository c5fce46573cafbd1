"""The two bodies of POST /runs, told apart by `kind`."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

from pydantic import BeforeValidator, Discriminator, Tag

from orchestrator.contracts.run_spec import RunSpec
from server.external.schemas import ExternalRunSpec


def _kind(body: Any) -> str:
    kind = body.get("kind") if isinstance(body, dict) else getattr(body, "kind", None)
    return "external" if kind == "external" else "managed"


def _without_kind(body: Any) -> Any:
    if isinstance(body, dict) and body.get("kind") == "managed":
        return {name: value for name, value in body.items() if name != "kind"}
    return body


NewRun: TypeAlias = Annotated[
    Annotated[RunSpec, BeforeValidator(_without_kind), Tag("managed")] | Annotated[ExternalRunSpec, Tag("external")],
    Discriminator(_kind),
]
"""A RunSpec, with `kind: managed` or without; or `kind: external`."""
