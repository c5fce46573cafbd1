"""Where else a run's steps are told: trackers of others that a team looks at already. A block of the RunSpec.

A mirror is a copy. Whatever becomes of it, the run goes on and its record here is whole. No key stands in a spec: it
names an environment variable of the machine that the run's driver is on.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal, TypeAlias
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field

from trainer.contracts.text_model import Name, TextModel


def _holds_no_secret(address: str) -> str:
    parts = urlsplit(address)
    if parts.username or parts.password or parts.query:
        raise ValueError("must hold no user, password or query; a key is named by an environment variable")
    return address


EnvironmentVariable: TypeAlias = Annotated[str, Field(pattern=r"^[A-Z_][A-Z0-9_]*$", max_length=200)]
"""The name of one; in capitals, so that a key that was put here by mistake is refused."""
Address: TypeAlias = Annotated[str, Field(min_length=1, max_length=2000), AfterValidator(_holds_no_secret)]


class WandbMode(StrEnum):
    """Whether W&B is told at once."""

    ONLINE = "online"
    OFFLINE = "offline"
    """Files in the run's directory, for `wandb sync`."""


class WandbTracking(TextModel):
    """Weights & Biases."""

    type: Literal["wandb"]
    project: Name
    """Made there if need be."""
    entity: Name | None = None
    """The team; None: the key's own."""
    mode: WandbMode = WandbMode.ONLINE
    """Whether it is told at once, or into files."""
    base_url: Address | None = None
    """Of a W&B server of one's own."""
    api_key_env: EnvironmentVariable = "WANDB_API_KEY"
    """The environment variable with the key; not needed offline."""


class TensorboardTracking(TextModel):
    """Event files of TensorBoard."""

    type: Literal["tensorboard"]
    directory: Annotated[str, Field(min_length=1, max_length=4000)] | None = None
    """A directory of this run's own on the driver's machine; None: `tensorboard` in the run's directory."""


class MlflowTracking(TextModel):
    """MLflow."""

    type: Literal["mlflow"]
    uri: Address
    """Of a tracking server, or `file:///…`, or of a database."""
    experiment: Name = "swell"
    """Made there if need be."""
    token_env: EnvironmentVariable | None = None
    """The environment variable with the server's token; None: it wants none."""


TrackingSpec: TypeAlias = Annotated[WandbTracking | TensorboardTracking | MlflowTracking, Field(discriminator="type")]
