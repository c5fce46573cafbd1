"""The commands of `swell`. Machine output (`--json`) goes to stdout alone; problems go to stderr.

Exit codes: 0 done, 1 refused or the watched run did not succeed, 2 bad usage or spec, 3 not found, 4 no server answers,
130 interrupted.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from pydantic import BaseModel
from rich.console import Console

from orchestrator.contracts.plan import RunLengths
from orchestrator.contracts.run_state import RunState
from server.cli import tables
from server.cli.client import HistoryQuery, SwellClient
from server.cli.connection import connect, read_settings
from server.cli.doctor import examination_table, examine
from server.cli.export_model import export_model
from server.cli.lengths_file import read_lengths
from server.cli.plan_report import plan_report
from server.cli.planning import PlanOptions, plan_after_run, plan_here, with_run
from server.cli.problem import CommandError, ExitCode, Problem, command_error
from server.cli.spec_file import SpecFile, read_spec_file
from server.cli.up import UpOptions, down, up
from server.cli.watch import changes, watch
from server.history.schemas import Aggregation, XAxis
from server.runs.schemas import Run

app = typer.Typer(
    help="Reinforcement learning of language models with a batch size that may change at every step.",
    epilog=__doc__.partition("\n\n")[2],
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


RunName = Annotated[str, typer.Argument(metavar="RUN", help="Id or name; of several with one name the newest.")]
Json = Annotated[bool, typer.Option("--json", help="JSON on stdout, problems as JSON on stderr.")]


class SpecRefusedError(Exception):
    """The server refused a spec that came from a file."""

    def __init__(self, error: CommandError, spec_file: SpecFile) -> None:
        super().__init__(str(error))
        self.error = error
        self.spec_file = spec_file


@app.command("up")
def up_command(
    demo: Annotated[bool, typer.Option(help="Submit the demo run unless there is one.")] = False,
    host: Annotated[str | None, typer.Option(help="Address to listen on.")] = None,
    port: Annotated[int | None, typer.Option(min=1, max=65_535, help="Port to listen on.")] = None,
    browser: Annotated[bool, typer.Option(help="Open the dashboard in a browser, where there is a screen.")] = True,
) -> None:
    """Serve until Ctrl-C: database, API, dashboard, and a local Ray head when the first run needs it.

    Runs go on without a server; the next `swell up` finds them again.
    """
    settings = read_settings()
    settings = replace(settings, host=host or settings.host, port=port or settings.port)
    up(settings, UpOptions(demo=demo, open_browser=browser), _console())


@app.command("down")
def down_command(
    force: Annotated[bool, typer.Option(help="Cancel active runs instead of refusing.")] = False,
) -> None:
    """End the server and the Ray head; refuse while runs are active."""
    down(read_settings(), force=force, console=_console())


@app.command()
def login() -> None:
    """Print a new link that logs one browser in."""
    with _client() as client:
        print(client.login_link())


@app.command()
def submit(
    spec: Annotated[Path, typer.Argument(metavar="SPEC.yaml", help="A RunSpec.")],
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="PATH=VALUE", help="Change a field, e.g. --set batch.type=all.")
    ] = None,
    watch_it: Annotated[bool, typer.Option("--watch", help="Stay and watch the run until it ends.")] = False,
    as_json: Json = False,
) -> None:
    """Queue a run."""
    spec_file = read_spec_file(spec, set_ or ())
    with _client() as client:
        try:
            run = client.submit(spec_file.spec)
        except CommandError as error:
            raise SpecRefusedError(error, spec_file) from error
        if watch_it:
            _watch(client, run.id, as_json=as_json)
        elif as_json:
            _print_json(run)
        else:
            _console().print(tables.shown(f"{run.name} is {run.state}: {run.id}"))


@app.command()
def plan(
    spec: Annotated[Path, typer.Argument(metavar="SPEC.yaml", help="A RunSpec.")],
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
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="PATH=VALUE", help="Change a field, e.g. --set batch.type=all.")
    ] = None,
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
            with _client() as client:
                found = plan_after_run(client, spec_file, options)
    except CommandError as error:
        raise SpecRefusedError(error, spec_file) from error
    if as_json:
        _print_json(found)
    else:
        console = _console()
        console.print(plan_report(str(spec_file.spec["name"]), found, width=console.width))


@app.command()
def runs(
    state: Annotated[list[RunState] | None, typer.Option(help="Only runs in this state; may be repeated.")] = None,
    text: Annotated[str | None, typer.Option(help="Only runs with this text in their name.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=500)] = 20,
    as_json: Json = False,
) -> None:
    """List runs, newest first."""
    with _client() as client:
        page = client.runs(states=state or (), text=text, limit=limit)
    if as_json:
        _print_json(page)
    else:
        _console().print(tables.runs_table(page))


@app.command()
def show(run: RunName, as_json: Json = False) -> None:
    """Show one run."""
    with _client() as client:
        found = client.run(run)
    if as_json:
        _print_json(found)
    else:
        _console().print(tables.run_details(found))


@app.command("watch")
def watch_command(run: RunName, as_json: Json = False) -> None:
    """Watch a run until it ends; with --json a line for each change. Exit code 1 unless it succeeds."""
    with _client() as client:
        _watch(client, run, as_json=as_json)


@app.command()
def metrics(
    run: RunName,
    names: Annotated[list[str] | None, typer.Argument(metavar="NAME…", help="Without one: list the metrics.")] = None,
    x: Annotated[XAxis, typer.Option(help="What the points are counted by.")] = XAxis.STEP,
    max_points: Annotated[int, typer.Option(min=1, max=10_000, help="More points are put into buckets.")] = 200,
    agg: Annotated[Aggregation, typer.Option(help="What a bucket shows.")] = Aggregation.MINMAX,
    as_json: Json = False,
) -> None:
    """Print the history of metrics, or which metrics there are."""
    with _client() as client:
        if not names:
            catalogue = client.catalogue(run)
            return _print_json(catalogue) if as_json else _console().print(tables.catalogue_table(catalogue))
        query = HistoryQuery(names=names, x=x, max_points=max_points, aggregation=agg)
        history = client.history(run, query)
    if as_json:
        _print_json(history)
    else:
        _console().print(tables.history_tables(history))
    if history.errors:
        raise typer.Exit(ExitCode.NOT_FOUND)
    return None


@app.command("export-model")
def export_model_command(
    run: RunName,
    target: Annotated[Path, typer.Argument(metavar="DIRECTORY", help="To be made; it must not hold anything yet.")],
    step: Annotated[int | None, typer.Option(min=0, help="The checkpoint before this step; else the newest.")] = None,
) -> None:
    """Write a checkpoint of a run as a Hugging Face model directory. Run it on the server's machine."""
    with _client() as client:
        found = client.run(run)
    _console().print(tables.shown(export_model(read_settings().run_dir(found.id), target, step=step)))


@app.command()
def cancel(
    run: RunName,
    kill: Annotated[bool, typer.Option("--kill", help="End it at once, not after its current step.")] = False,
    wait: Annotated[bool, typer.Option(help="Wait until no process of it is left.")] = True,
    as_json: Json = False,
) -> None:
    """End a run: after its current step, or within ten seconds in any case."""
    with _client() as client:
        found = client.cancel(run, kill=kill)
        seen = changes(client, found.id) if wait else [found]
        for current in seen:
            found = current
            if not as_json:
                _console().print(tables.shown(f"{found.name} is {found.state}"))
    if as_json:
        _print_json(found)


@app.command()
def doctor(as_json: Json = False) -> None:
    """Check that this machine has what a run needs. Exit code 1 when something would stop it."""
    examination = examine(read_settings())
    if as_json:
        _print_json(examination)
    else:
        _console().print(examination_table(examination))
    if examination.has_problems:
        raise typer.Exit(ExitCode.FAILED)


def main() -> None:
    """Entry point: run the command, and turn what goes wrong into a message and an exit code."""
    # A usage error comes before any option is known, and a script that asked for JSON wants it then too.
    as_json = "--json" in sys.argv[1:]
    try:
        app()
    except SpecRefusedError as refused:
        _tell(refused.error.problem, as_json=as_json, spec_file=refused.spec_file)
        sys.exit(refused.error.code)
    except CommandError as error:
        _tell(error.problem, as_json=as_json)
        sys.exit(error.code)
    except OSError as error:
        # A disk that is full, a file that is not ours: the system's own sentence says more than a traceback would.
        _tell(command_error(ExitCode.FAILED, "system", "Failed", str(error)).problem, as_json=as_json)
        sys.exit(ExitCode.FAILED)
    except KeyboardInterrupt:
        sys.exit(ExitCode.INTERRUPTED)


def _client() -> SwellClient:
    return connect(read_settings())


def _console() -> Console:
    # Into a pipe or a file, lines are as long as they are: 80 columns would cut ids and reasons.
    return Console() if sys.stdout.isatty() else Console(width=200)


def _watch(client: SwellClient, run: str, *, as_json: bool) -> None:
    last: Run | None = None
    if as_json:
        for last in changes(client, run):
            _print_json(last)
    else:
        last = watch(client, run, _console())
    if last is None or last.state is not RunState.SUCCEEDED:
        raise typer.Exit(ExitCode.FAILED)


def _print_json(model: BaseModel) -> None:
    print(model.model_dump_json(), flush=True)


def _tell(problem: Problem, *, as_json: bool, spec_file: SpecFile | None = None) -> None:
    if as_json:
        print(problem.model_dump_json(exclude_none=True), file=sys.stderr)
    else:
        Console(stderr=True).print(tables.problem_text(problem, spec_file.place if spec_file else None), soft_wrap=True)


if __name__ == "__main__":
    main()
