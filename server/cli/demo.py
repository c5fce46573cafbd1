"""The demo run of `swell up --demo`, and so of `make run`: submitted once."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from orchestrator.contracts.run_state import RunState
from server.cli.spec_file import read_spec_file
from server.cli.tables import shown
from server.client.client import SwellClient
from server.client.problem import NotFoundError
from server.runs.schemas import Run

DEMO_SPEC = Path(__file__).parents[2] / "examples" / "demo.yaml"
_ENDED = {RunState.SUCCEEDED: "succeeded", RunState.FAILED: "failed", RunState.CANCELLED: "been cancelled"}


def submit_demo(client: SwellClient, console: Console) -> None:
    """Submit the demo, or say what became of the one that is there."""
    spec = read_spec_file(DEMO_SPEC).spec
    try:
        found = client.show(str(spec["name"]))
    except NotFoundError:
        submitted = client.submit(spec)
        console.print(f"The demo run is submitted ({submitted.id}); watch it with `swell watch {submitted.name}`.")
    else:
        console.print(shown(_demo_again(found)), soft_wrap=True)


def _demo_again(run: Run) -> str:
    """What can be done with a demo run that is there already."""
    if not run.state.is_terminal:
        return f"The demo run is {run.state}; watch it with `swell watch {run.name}`."
    reason = f" ({run.reason.splitlines()[0]})" if run.reason else ""
    again = f"run it again with `swell submit {DEMO_SPEC}`."
    return f"The demo run is there already and has {_ENDED[run.state]}{reason}; {again}"
