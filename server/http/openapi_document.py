"""Completes the OpenAPI document that FastAPI makes: problems, tokens, the live stream."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic.json_schema import models_json_schema

from server.http.problems import FieldProblem, Problem, problem_schema
from server.live.schemas import (
    CheckpointNewsEvent,
    EventNewsEvent,
    IterationNewsEvent,
    LogNewsEvent,
    ResyncEvent,
    RunEvent,
    StepsEvent,
)

_EVENTS = (
    RunEvent,
    StepsEvent,
    ResyncEvent,
    EventNewsEvent,
    LogNewsEvent,
    IterationNewsEvent,
    CheckpointNewsEvent,
)


def describe(app: FastAPI) -> None:
    """Let the app answer with the completed document, which is made once, when it is first asked for."""

    def document() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _document(app)
        return app.openapi_schema

    app.openapi = document  # type: ignore[method-assign]


def _document(app: FastAPI) -> dict[str, Any]:
    document = get_openapi(
        title=app.title,
        version=app.version,
        routes=app.routes,
        description="Reinforcement learning of language models with a batch size that may change at every step.",
    )
    schemas = document["components"]["schemas"]
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    _, extra = models_json_schema(
        [(model, "serialization") for model in (Problem, FieldProblem, *_EVENTS)],
        ref_template="#/components/schemas/{model}",
    )
    schemas.update({name: schema for name, schema in extra["$defs"].items() if name not in schemas})
    schemas["LiveEvent"] = {
        "description": "One event of the live stream, told apart by its name.",
        "oneOf": [{"$ref": f"#/components/schemas/{model.__name__}"} for model in _EVENTS],
        "discriminator": {"propertyName": "event"},
    }
    document["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    document["security"] = [{"token": []}]
    for operations in document["paths"].values():
        for operation in operations.values():
            operation["responses"].pop("422", None)
            operation["responses"]["default"] = problem_schema()
    return document
