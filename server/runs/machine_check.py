"""Whether this machine can start a spec. Called before a run is submitted, and before one is planned."""

from __future__ import annotations

from orchestrator.contracts.run_spec import RunSpec
from server.errors import InvalidError
from server.http.pointers import pointer


def check_on_this_machine(spec: RunSpec, *, within: tuple[str, ...] = ()) -> None:
    """Look for files, tasks and room that the spec needs. Raises InvalidError with everything that is missing.

    within: where in the request's body the spec stands.
    """
    # It brings the task library along, which the start of the server must not wait for.
    from orchestrator.preflight import preflight

    found = preflight(spec)
    if found:
        raise InvalidError([(pointer([*within, *field.split(".")]), message) for field, message in found])
