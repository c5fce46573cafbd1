"""What `swell watch` draws, without a server."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta

from rich.console import Console

from orchestrator.contracts.run_state import RunState
from server.cli.watch import picture, time_left, watch
from server.client.problem import NoServerError, local_problem
from server.runs.schemas import Run
from server.steps.schemas import StepRow
from tests.server.factories import START, metric, step_message
from tests.server.test_client_watch import a_run


def step_rows(*sizes: int) -> list[StepRow]:
    """Steps of these sizes, one every two seconds."""
    rows = []
    for step, size in enumerate(sizes):
        message = step_message(
            step, lengths=[5] * size, metrics={"train/loss": metric(0.5), "reward/mean": metric(0.25)}
        )
        told = message.model_dump(exclude={"schedule", "timeline"})
        told |= {"started_at": START + timedelta(seconds=2 * step), "ended_at": START + timedelta(seconds=2 * step + 2)}
        place = {"attempt": 1, "superseded": False, "samples_total": 0, "tokens_total": 0, "has_schedule": True}
        rows.append(StepRow.model_validate(told | place))
    return rows


def running(num_steps: int, total_steps: int | None) -> Run:
    return a_run(RunState.RUNNING, num_steps).model_copy(update={"total_steps": total_steps, "activity": "training"})


def drawn(run: Run, steps: Sequence[StepRow], width: int = 120) -> str:
    console = Console(width=width, force_terminal=False)
    with console.capture() as captured:
        console.print(picture(run, steps))
    return captured.get()


def test_the_time_left_follows_the_pace_of_the_newest_steps() -> None:
    steps = step_rows(4, 4, 4, 4)
    assert time_left(running(4, 34), steps) == timedelta(seconds=60)
    pause = steps[-1].model_copy(update={"ended_at": steps[-1].ended_at + timedelta(hours=1)})
    assert time_left(running(4, 34), [*steps[:-1], pause]) == timedelta(seconds=60)
    assert time_left(running(4, None), steps) is None
    assert time_left(running(1, 34), steps[:1]) is None
    assert time_left(running(40, 34), steps) == timedelta(0)


def test_the_picture_tells_progress_and_the_newest_steps() -> None:
    text = drawn(running(3, 10), step_rows(4, 2, 6))
    assert "training" in text
    assert "3 of 10" in text
    assert "0:14 left" in text
    rows = [line.split()[:3] for line in text.splitlines() if line.split()[1:2] == ["rl"]]
    assert rows == [["2", "rl", "6"], ["1", "rl", "2"], ["0", "rl", "4"]]


def test_a_narrow_terminal_and_a_run_without_steps_are_drawn_too() -> None:
    assert max(map(len, drawn(running(3, 10), step_rows(4, 2, 6), width=60).splitlines())) <= 60
    assert "0 steps" in drawn(running(0, None), [])


def test_an_activity_cannot_act_on_the_terminal() -> None:
    run = running(1, None).model_copy(update={"activity": "\x1b[2J[red]evil[/red]\u202e"})
    text = drawn(run, [])
    assert not {"\x1b", "\u202e"} & set(text)
    assert "[red]evil[/red]" in text


class WatchedServer:
    """Tells one state after the other; its steps can be asked for only at the first."""

    def __init__(self, *runs: Run) -> None:
        self._runs = list(runs)
        self._asked = 0

    def show(self, run: str) -> Run:
        return self._runs.pop(0)

    def steps(self, run: str, *, first: int = 0) -> Iterator[StepRow]:
        self._asked += 1
        if self._asked > 1:
            raise NoServerError(local_problem("no-server", "No server", "it restarts"))
        return iter(step_rows(4, 2)[first:])


def test_watching_in_a_terminal_ends_with_the_run() -> None:
    console = Console(force_terminal=True, width=120)
    server = WatchedServer(running(2, 3), a_run(RunState.SUCCEEDED, 3))
    with console.capture() as captured:
        last = watch(server, "demo", console)
    assert last.state is RunState.SUCCEEDED
    assert "succeeded" in captured.get()
