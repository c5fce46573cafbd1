"""`swell watch`: a run as it goes on, drawn again at each change; on a pipe, a line for each."""

from __future__ import annotations

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.text import Text

from server.cli.tables import number, run_details, shown
from server.client.watch import RunReader, changes
from server.runs.schemas import Run


def watch(client: RunReader, run: str, console: Console) -> Run:
    """Show a run until it ends, and return it as it ended."""
    if not console.is_terminal:
        return _watch_lines(client, run, console)
    view = _View()
    last: Run | None = None
    with Live(console=console, refresh_per_second=4, get_renderable=lambda: view.render(last)):
        for current in changes(client, run):
            last = current
            view.update(current)
    assert last is not None
    return last


def _watch_lines(client: RunReader, run: str, console: Console) -> Run:
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


class _View:
    """The live picture: what the run is at, a bar with the time left, and its newest numbers."""

    def __init__(self) -> None:
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=40),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
        )
        self._task = self._bar.add_task("steps", total=None)

    def update(self, run: Run) -> None:
        self._bar.update(self._task, completed=run.num_steps, total=run.total_steps)

    def render(self, run: Run | None) -> RenderableType:
        if run is None:
            return Text("…")
        return Group(self._bar, Text(), run_details(run))
