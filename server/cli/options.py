"""Arguments and options that several commands have, so that they are called and explained alike."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

RunName = Annotated[str, typer.Argument(metavar="RUN", help="Id or name; of several with one name the newest.")]
SpecPath = Annotated[Path, typer.Argument(metavar="SPEC.yaml", help="A RunSpec.")]
Changes = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="PATH=VALUE", help="Change a field, e.g. --set batch.type=all; may be repeated."),
]
Json = Annotated[bool, typer.Option("--json", help="JSON on stdout, problems as JSON on stderr.")]
