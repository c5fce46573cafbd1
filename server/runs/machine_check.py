"""Whether this machine can start a spec. Called before a run is submitted, and before one is planned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from orchestrator.contracts.run_spec import RunSpec
from server.errors import InvalidError
from server.http.pointers import pointer
from server.runs.secrets import find_secrets


def check_on_this_machine(spec: RunSpec, *, within: tuple[str, ...] = ()) -> None:
    """Look for files, tasks and room that the spec needs. Raises InvalidError with everything that is missing.

    within: where in the request's body the spec stands.
    """
    # It brings the task library along, which the start of the server must not wait for.
    from orchestrator.preflight import preflight

    _refuse(preflight(spec), within=within)


def refuse_secrets(spec: RunSpec, *, within: tuple[str, ...] = ()) -> None:
    """A spec is stored and shown to everybody who may read. Raises InvalidError for what looks like a secret in it."""
    refuse_secrets_in(spec.model_dump(mode="json", exclude_unset=True), within=within)


def refuse_secrets_in(told: Mapping[str, Any], *, within: tuple[str, ...] = ()) -> None:
    """The same for anything else that is shown: names, tags. Raises InvalidError."""
    message = "looks like a secret, and would be shown; name an environment variable that holds it instead"
    errors = [(pointer([*within, *path]), message) for path in find_secrets(told)]
    if errors:
        raise InvalidError(errors)


def check_for_a_plan(spec: RunSpec, *, within: tuple[str, ...]) -> None:
    """The same without room: a run may be planned here for a larger machine."""
    from orchestrator.preflight import find_wrong

    _refuse(find_wrong(spec), within=within)


def _refuse(found: Sequence[tuple[str, str]], *, within: tuple[str, ...]) -> None:
    if found:
        raise InvalidError([(pointer([*within, *field.split(".")]), message) for field, message in found])
