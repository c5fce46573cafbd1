"""Commands about what runs have recorded: `metrics`, `logs`, `export`, `export-model`."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from orchestrator.contracts.log_messages import LogLevel
from orchestrator.contracts.run_state import RunState
from server.cli.connection import connect
from server.cli.export_model import export_model
from server.cli.log_lines import log_line, unknown_source
from server.cli.metric_lines import MetricFormat, metric_lines
from server.cli.options import Json, RunName
from server.cli.problem import CommandError, ExitCode, command_error
from server.cli.tables import catalogue_table, history_tables
from server.cli.terminal import console, hint, print_json, tell_result
from server.client.location import read_settings
from server.history.schemas import Aggregation, MetricHistory, XAxis

commands = typer.Typer()

_FORMATS = ("csv", "jsonl", "parquet")


class PartOfRun(StrEnum):
    """What of a run is in the file: the server's `ExportedPart`, which is slow to import."""

    STEPS = "steps"
    SCHEDULES = "schedules"
    ITERATIONS = "iterations"
    ROLLOUTS = "rollouts"


@commands.command()
def metrics(
    run: RunName,
    names: Annotated[list[str] | None, typer.Argument(metavar="NAME…", help="Without one: list the metrics.")] = None,
    x: Annotated[XAxis, typer.Option(help="What the points are counted by.")] = XAxis.STEP,
    max_points: Annotated[int, typer.Option(min=1, max=10_000, help="More points are put into buckets.")] = 200,
    agg: Annotated[Aggregation, typer.Option(help="What a bucket shows.")] = Aggregation.MINMAX,
    format_: Annotated[
        MetricFormat | None, typer.Option("--format", help="A line for each point, with its weight.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Print the history of metrics, or which metrics there are."""
    if format_ is not None and (as_json or not names):
        raise typer.BadParameter("--format wants the name of a metric, and no --json")
    with connect() as client:
        if not names:
            catalogue = client.metric_names(run)
            return print_json(catalogue) if as_json else console().print(catalogue_table(catalogue))
        history = client.metrics(run, *names, x=x, max_points=max_points, agg=agg)
    if format_ is not None:
        sys.stdout.writelines(metric_lines(history, format_))
    elif as_json:
        print_json(history)
    else:
        console().print(history_tables(history))
    if history.errors:
        raise _missing_metrics(history, is_told=format_ is None)
    return None


@commands.command()
def logs(
    run: RunName,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on with new lines until the run ends.")] = False,
    source: Annotated[str | None, typer.Option(help="Only what this process wrote, e.g. `rank 0`.")] = None,
    level: Annotated[LogLevel, typer.Option(help="At least.")] = LogLevel.DEBUG,
    text: Annotated[str | None, typer.Option(help="Only lines with this text.")] = None,
    attempt: Annotated[int | None, typer.Option(min=1, help="Only of this attempt.")] = None,
    tail: Annotated[int, typer.Option(min=0, max=100_000, help="So many of the newest lines.")] = 200,
    as_json: Json = False,
) -> None:
    """Print what a run's processes wrote to their logs; with --json a line of JSON for each."""
    with connect() as client:
        # One name for all requests: a newer run of the same name must not take its place.
        found = client.show(run)
        if source is not None and (unknown := unknown_source(client, found.id, source)) is not None:
            if not follow or found.state.is_terminal:
                raise command_error(ExitCode.NOT_FOUND, "not-found", "Not found", unknown)
            if not as_json:
                # A process may begin to write only now.
                hint(unknown)
        read = client.follow_logs if follow else client.logs
        terminal = console()
        lines = read(found.id, source=source, level=level, text=text, attempt=attempt, tail=tail)
        # Processes send their lines in batches: those of two arrive out of the order in which they were written.
        for line in lines if follow else sorted(lines, key=lambda line: (line.attempt, line.at, line.id)):
            if as_json:
                print_json(line)
            else:
                terminal.print(log_line(line, with_attempt=found.attempt > 1), soft_wrap=True)
        found = client.show(found.id)
    files = read_settings().run_dir(found.id) / "logs" / f"attempt-{attempt or found.attempt}"
    if found.state in (RunState.FAILED, RunState.LOST) and not as_json and files.is_dir():
        # A driver that is killed sends its last lines nowhere.
        hint(f"The files hold also what could not be sent any more: {files}")


@commands.command()
def export(
    run: RunName,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="To be written; its name says the format. `-`: stdout.")],
    format_: Annotated[
        str | None, typer.Option("--format", metavar="csv|jsonl|parquet", help="Else as the name of the file ends.")
    ] = None,
    what: Annotated[
        PartOfRun, typer.Option(help="Steps with their metrics, where each sample ran, the books, or the rollouts.")
    ] = PartOfRun.STEPS,
    superseded: Annotated[bool, typer.Option(help="Also what a later attempt did again.")] = True,
    as_json: Json = False,
) -> None:
    """Write every step of a run with its counts, metrics and weights to a file; or, with --what, its other records."""
    to_stdout = str(file) == "-"
    wanted = format_ or ("csv" if to_stdout else file.suffix[1:])
    if wanted not in _FORMATS:
        detail = f"{wanted!r} is no format; name the file .csv, .jsonl or .parquet, or give --format"
        raise command_error(ExitCode.BAD_INPUT, "bad-format", "Unknown format", detail)
    with connect() as client:
        target = sys.stdout.buffer if to_stdout else file
        size = client.export(run, target, what=what.value, format=wanted, superseded=superseded)
    if not to_stdout:
        tell_result(f"{file}: {size:,} bytes", as_json=as_json, file=str(file), bytes=size)


@commands.command("export-model")
def export_model_command(
    run: RunName,
    target: Annotated[Path, typer.Argument(metavar="DIRECTORY", help="To be made; it must not hold anything yet.")],
    step: Annotated[int | None, typer.Option(min=0, help="The checkpoint before this step; else the newest.")] = None,
    as_json: Json = False,
) -> None:
    """Write a checkpoint of a run as a Hugging Face model directory. Run it on the server's machine."""
    with connect() as client:
        found = client.show(run)
    told = export_model(read_settings().run_dir(found.id), target, step=step, console=None if as_json else console())
    tell_result(told, as_json=as_json, directory=str(target), message=told)


def _missing_metrics(history: MetricHistory, *, is_told: bool) -> typer.Exit | CommandError:
    """The end of a command that did not find all metrics. is_told: whether its output says which."""
    if is_told:
        return typer.Exit(ExitCode.NOT_FOUND)
    detail = "; ".join(f"{error.name}: {error.message}" for error in history.errors)
    return command_error(ExitCode.NOT_FOUND, "not-found", "Not found", detail)
