"""`swell watch`: a run as it goes on, drawn again at each change; on a pipe, a line for each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from itertools import pairwise
from typing import Protocol

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from server.cli.tables import duration, number, run_details, shown
from server.client.problem import SwellError
from server.client.watch import changes
from server.runs.schemas import Run
from server.steps.schemas import StepRow

_NUM_ROWS = 12
"""Newest steps in the table."""
_BAR_WIDTH = 40
_SIZE_BAR_WIDTH = 16


class WatchedRuns(Protocol):
    """What watching needs of a client."""

    def show(self, run: str) -> Run: ...

    def steps(self, run: str, *, first: int = 0) -> Iterator[StepRow]: ...


def watch(client: WatchedRuns, run: str, console: Console) -> Run:
    """Show a run until it ends, and return it as it ended."""
    if not console.is_terminal:
        return _watch_lines(client, run, console)
    last: Run | None = None
    steps: Sequence[StepRow] = ()
    with Live(console=console, refresh_per_second=4, get_renderable=lambda: picture(last, steps)):
        for current in changes(client, run):
            if last is None or current.num_steps != last.num_steps:
                steps = _newest_steps(client, current) or steps
            last = current
    assert last is not None
    return last


def picture(run: Run | None, steps: Sequence[StepRow]) -> RenderableType:
    """How far the run is and when it will be done, its newest numbers, and its newest steps."""
    if run is None:
        return Text("…")
    return Group(_progress(run, steps), Text(), run_details(run), Text(), *([steps_table(steps)] if steps else []))


def steps_table(steps: Sequence[StepRow]) -> Table:
    """The newest steps, the newest first, each with its size as a bar."""
    table = Table(box=None, header_style="dim", pad_edge=False)
    for heading in ("step", "phase", "batch size", "", "tokens", "reward", "loss", "lr", "idle", "took"):
        table.add_column(heading, justify="left" if heading in ("phase", "") else "right", no_wrap=True)
    largest = max(step.global_batch_size for step in steps)
    for step in reversed(steps):
        table.add_row(
            str(step.step),
            step.phase or "–",
            str(step.global_batch_size),
            ProgressBar(total=largest, completed=step.global_batch_size, width=_SIZE_BAR_WIDTH),
            number(step.num_tokens),
            _metric(step, "reward/mean"),
            _metric(step, "train/loss"),
            number(step.lr),
            "–" if step.measured_idle_frac is None else f"{step.measured_idle_frac:.1%}",
            f"{(step.ended_at - step.started_at).total_seconds():.2f} s",
        )
    return table


def time_left(run: Run, steps: Sequence[StepRow]) -> timedelta | None:
    """Until the last step ends, at the pace of the newest steps; None where the end or the pace is not known.

    The pace is the median of the times between their ends, so that one checkpoint or pause does not change it.
    """
    between = sorted(after.ended_at - before.ended_at for before, after in pairwise(steps))
    if run.state.is_terminal or run.total_steps is None or not between:
        return None
    return max(run.total_steps - run.num_steps, 0) * between[len(between) // 2]


def _progress(run: Run, steps: Sequence[StepRow]) -> RenderableType:
    is_known = run.total_steps is not None
    row = Table.grid(padding=(0, 1))
    left = time_left(run, steps)
    row.add_row(
        shown(run.activity or run.state),
        ProgressBar(
            total=float(run.total_steps or 1),
            completed=float(run.num_steps) if is_known else 0.0,
            width=_BAR_WIDTH,
            pulse=not is_known and not run.state.is_terminal,
        ),
        f"{run.num_steps} of {run.total_steps}" if is_known else f"{run.num_steps} steps",
        "" if left is None else f"{duration(left.total_seconds())} left",
    )
    return row


def _newest_steps(client: WatchedRuns, run: Run) -> list[StepRow]:
    try:
        # Steps count from 0, so that this is near the end; what is more than asked for is cut off.
        return list(client.steps(run.id, first=max(0, run.num_steps - _NUM_ROWS)))[-_NUM_ROWS:]
    except SwellError:
        # The table can wait for a server that is just restarting; the run's end cannot be missed by it.
        return []


def _metric(step: StepRow, name: str) -> str:
    return number(step.metrics[name].value) if name in step.metrics else "–"


def _watch_lines(client: WatchedRuns, run: str, console: Console) -> Run:
    last: Run | None = None
    for current in changes(client, run):
        if last is None or (line := _line(current)) != _line(last):
            line = _line(current)
            console.print(shown(line), soft_wrap=True)
        last = current
    assert last is not None
    return last


def _line(run: Run) -> str:
    parts = [run.name, run.state, f"{run.num_steps} of {run.total_steps or '?'} steps"]
    if run.last is not None:
        parts.append(f"batch {run.last.global_batch_size}")
        parts.append(f"reward {number(run.last.reward)}")
        parts.append(f"loss {number(run.last.loss)}")
    # A traceback may follow the sentence; `swell show` has it.
    return "  ".join([*parts, *([run.reason.splitlines()[0]] if run.reason else [])])
