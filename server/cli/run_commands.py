"""Commands about runs: submit and plan them, see them, and tell them what to do."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from orchestrator.contracts.plan import RunLengths
from orchestrator.contracts.run_state import RunState
from server.cli.clone_changes import clone_changes
from server.cli.connection import connect
from server.cli.lengths_file import read_lengths
from server.cli.options import Changes, Json, RunName, SpecPath
from server.cli.plan_report import plan_report
from server.cli.planning import PlanOptions, plan_after_run, plan_here, with_run
from server.cli.problem import ExitCode
from server.cli.spec_file import read_spec_file
from server.cli.tables import run_details, runs_table
from server.cli.terminal import RefusedFieldsError, console, print_json, say
from server.cli.watch import watch
from server.client.client import SwellClient
from server.client.problem import InvalidError
from server.runs.schemas import Run

commands = typer.Typer()


class RunOrder(StrEnum):
    """What a list of runs is ordered by: the server's `SortKey`, which is slow to import."""

    CREATED = "created"
    NAME = "name"
    STATE = "state"
    STARTED = "started"
    STEPS = "steps"
    REWARD = "reward"
    LOSS = "loss"
    BATCH_SIZE = "batch_size"


@commands.command()
def submit(
    spec: SpecPath,
    set_: Changes = None,
    watch_it: Annotated[bool, typer.Option("--watch", help="Stay and watch the run until it ends.")] = False,
    as_json: Json = False,
) -> None:
    """Queue a run."""
    spec_file = read_spec_file(spec, set_ or ())
    with connect() as client:
        try:
            run = client.submit(spec_file.spec)
        except InvalidError as error:
            raise RefusedFieldsError(error, spec_file.place) from error
        if watch_it:
            _watch(client, run.id, as_json=as_json)
        else:
            _tell(run, f"{run.name} is {run.state}: {run.id}", as_json=as_json)


@commands.command()
def plan(
    spec: SpecPath,
    lengths: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Sample lengths: a number a line, a JSON list, CSV or JSONL with num_tokens."
        ),
    ] = None,
    run: Annotated[
        str | None, typer.Option(metavar="RUN", help="Take the lengths of this run; asks the server.")
    ] = None,
    kept_frac: Annotated[
        float, typer.Option(min=0.000001, max=1.0, help="Share of the rollouts that the filter will leave.")
    ] = 1.0,
    set_: Changes = None,
    as_json: Json = False,
) -> None:
    """Show what a run would be: sizes, learning rate, micro-batches, idle time; or why it cannot work.

    Nothing is started, and without --run no server is needed.
    """
    if lengths is not None and run is not None:
        raise typer.BadParameter("give either --lengths or --run")
    spec_file = read_spec_file(spec, set_ or ())
    options = PlanOptions(
        lengths=RunLengths(type="run", run=run) if run else read_lengths(lengths) if lengths else None,
        kept_frac=kept_frac,
    )
    try:
        if run is None:
            found = plan_here(spec_file, options)
        else:
            spec_file = with_run(spec_file, run)
            with connect() as client:
                found = plan_after_run(client, spec_file, options)
    except InvalidError as error:
        raise RefusedFieldsError(error, spec_file.place) from error
    if as_json:
        print_json(found)
    else:
        terminal = console()
        terminal.print(plan_report(str(spec_file.spec["name"]), found, width=terminal.width))


@commands.command()
def runs(
    state: Annotated[list[RunState] | None, typer.Option(help="Only runs in this state; may be repeated.")] = None,
    text: Annotated[str | None, typer.Option(help="Only runs with this text in their name.")] = None,
    tag: Annotated[
        list[str] | None, typer.Option(metavar="TAG[=VALUE]", help="Only runs with this tag; may be repeated.")
    ] = None,
    archived: Annotated[bool, typer.Option(help="Also runs that are archived.")] = False,
    sort: Annotated[RunOrder, typer.Option(help="Order; the highest comes first.")] = RunOrder.CREATED,
    ascending: Annotated[bool, typer.Option("--ascending", help="The lowest comes first.")] = False,
    limit: Annotated[int, typer.Option(min=1, max=500, help="At most so many.")] = 20,
    as_json: Json = False,
) -> None:
    """List runs, newest first."""
    with connect() as client:
        page = client.runs(
            states=state or (),
            text=text,
            tags=tag or (),
            archived=archived,
            sort=sort.value,
            order="asc" if ascending else "desc",
            limit=limit,
        )
    if as_json:
        print_json(page)
    else:
        console().print(runs_table(page))


@commands.command()
def show(run: RunName, as_json: Json = False) -> None:
    """Show one run."""
    with connect() as client:
        found = client.show(run)
    if as_json:
        print_json(found)
    else:
        console().print(run_details(found))


@commands.command("watch")
def watch_command(run: RunName, as_json: Json = False) -> None:
    """Watch a run until it ends; with --json a line for each change. Exit code 1 unless it succeeds."""
    with connect() as client:
        _watch(client, run, as_json=as_json)


@commands.command()
def cancel(
    run: RunName,
    kill: Annotated[bool, typer.Option("--kill", help="End it at once, not after its current step.")] = False,
    wait: Annotated[bool, typer.Option(help="Wait until no process of it is left.")] = True,
    as_json: Json = False,
) -> None:
    """End a run: after its current step, or within ten seconds in any case."""
    with connect() as client:
        found = client.cancel(run, kill=kill)
        told = None
        for current in client.watch(found.id) if wait else [found]:
            found = current
            # A run that ends still records its step, and each record is a change of the run.
            if not as_json and found.state is not told:
                say(f"{found.name} is {found.state}")
            told = found.state
    if as_json:
        print_json(found)


@commands.command()
def pause(
    run: RunName,
    wait: Annotated[bool, typer.Option(help="Wait until its step is done.")] = True,
    as_json: Json = False,
) -> None:
    """Let a run wait after its current step, with all its processes, until it is resumed."""
    _tell_and_wait(lambda client: client.pause(run), RunState.PAUSING if wait else None, as_json=as_json)


@commands.command()
def resume(run: RunName, as_json: Json = False) -> None:
    """Let a paused run go on."""
    _tell_and_wait(lambda client: client.resume(run), None, as_json=as_json)


@commands.command()
def retry(
    run: RunName,
    from_step: Annotated[
        int | None, typer.Option(min=0, help="Train from this step on again, from its checkpoint; else the newest.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Let a run that failed or was cancelled go on, as its next attempt."""
    with connect() as client:
        found = client.retry(run, from_step=from_step)
        step = _newest_checkpoint(client, found.id) if from_step is None else from_step
    place = "begins at step 0" if step is None else f"goes on from step {step}"
    _tell(found, f"{found.name} is {found.state}: attempt {found.attempt + 1} {place}", as_json=as_json)


def _newest_checkpoint(client: SwellClient, run: str) -> int | None:
    kept = (each.step for each in client.checkpoints(run) if not each.removed and not each.superseded)
    return next(kept, None)


@commands.command()
def clone(
    run: RunName,
    set_: Changes = None,
    watch_it: Annotated[bool, typer.Option("--watch", help="Stay and watch the new run until it ends.")] = False,
    as_json: Json = False,
) -> None:
    """Submit the spec of a run again, with changes. The new run tells where it comes from."""
    with connect() as client:
        parent = client.show(run)
        # An external run has no spec; the server says so.
        spec = {} if parent.spec is None else parent.spec.model_dump(mode="json", exclude_unset=True)
        changes, places = clone_changes(spec, set_ or ())
        try:
            cloned = client.clone(parent.id, changes=changes)
        except InvalidError as error:
            raise RefusedFieldsError(error, _place_in_clone(parent, places)) from error
        if watch_it:
            _watch(client, cloned.id, as_json=as_json)
        else:
            _tell(cloned, f"{cloned.name} is {cloned.state}: {cloned.id}, from {parent.id}", as_json=as_json)


@commands.command()
def delete(
    run: RunName,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    as_json: Json = False,
) -> None:
    """Delete a run that has ended, with all its records. Asks first, unless --yes is given."""
    with connect() as client:
        found = client.show(run)
        if not yes:
            typer.confirm(f"Delete {found.id} with its {found.num_steps} steps?", abort=True, err=True)
        deleted = client.delete(found.id)
    if as_json:
        print_json(deleted)
    else:
        until = f"{deleted.restorable_until.astimezone():%H:%M:%S}"
        say(f"{found.name} is deleted; until {until} `swell restore {found.id}` takes that back")


@commands.command()
def restore(
    run: Annotated[str, typer.Argument(metavar="RUN", help="Its id; a deleted run has no name any more.")],
    as_json: Json = False,
) -> None:
    """Take the deletion of a run back."""
    with connect() as client:
        restored = client.restore(run)
    _tell(restored, f"{restored.name} is back: {restored.id}", as_json=as_json)


def _watch(client: SwellClient, run: str, *, as_json: bool) -> None:
    last: Run | None = None
    if as_json:
        for last in client.watch(run):
            print_json(last)
    else:
        last = watch(client, run, console())
    if last is None or last.state is not RunState.SUCCEEDED:
        raise typer.Exit(ExitCode.FAILED)


def _tell_and_wait(tell: Callable[[SwellClient], Run], passing: RunState | None, *, as_json: bool) -> None:
    """Do it, and show the run's state once it has left the passing one."""
    with connect() as client:
        found = tell(client)
        if found.state is passing:
            found = next(run for run in client.watch(found.id) if run.state is not passing)
    _tell(found, f"{found.name} is {found.state}", as_json=as_json)


def _tell(run: Run, sentence: str, *, as_json: bool) -> None:
    if as_json:
        print_json(run)
    else:
        say(sentence)


def _place_in_clone(parent: Run, places: dict[str, str]) -> Callable[[str], str]:
    def place(pointer: str) -> str:
        within = pointer.removeprefix("/changes")
        # A block may be refused for what was set inside of it: a type that is none.
        set_inside = (told for place, told in places.items() if within and place.startswith(f"{within}/"))
        inside = next(set_inside, f"run {parent.id}")
        while within and within not in places:
            within = within.rpartition("/")[0]
        return places.get(within, inside)

    return place
