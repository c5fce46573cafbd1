"""What the API takes and tells of external runs."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import orjson
from pydantic import Field, field_validator

from trainer.contracts.text_model import JsonObject, Name, TextModel

MAX_CONFIG_BYTES = 1024 * 1024


class ExternalRunSpec(TextModel):
    """A run that another training framework records."""

    kind: Literal["external"]
    name: Name
    config: JsonObject = {}
    """Whatever its writer wants to be shown, as JSON. Values under keys like `api_key` are not kept."""
    tags: Annotated[dict[Name, Annotated[str, Field(max_length=200)]], Field(max_length=100)] = {}

    @field_validator("config")
    @classmethod
    def _is_small(cls, config: dict[str, Any]) -> dict[str, Any]:
        size = len(orjson.dumps(config, default=str))
        if size > MAX_CONFIG_BYTES:
            raise ValueError(f"is {size} bytes of JSON; at most {MAX_CONFIG_BYTES} are kept")
        return config


class ExternalAttempt(TextModel):
    """The next attempt of an external run. Its token is told here and never again."""

    run_id: str
    attempt: int
    ingest_token: str
    """Grants ingest of this attempt and nothing else. Older attempts are fenced off."""
