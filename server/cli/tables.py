"""Runs, metrics and problems as people read them in a terminal."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from orchestrator.contracts.run_state import RunState
from server.auth.schemas import TokenInfo, TokenList
from server.client.problem import FieldProblem, Problem
from server.history.schemas import MetricCatalogue, MetricHistory, Series
from server.runs.schemas import LastStep, Run, RunPage, RunSummary

_BARS = "▁▂▃▄▅▆▇█"
_STATE_STYLE = {
    RunState.QUEUED: "dim",
    RunState.STARTING: "cyan",
    RunState.RUNNING: "bold cyan",
    RunState.PAUSING: "yellow",
    RunState.PAUSED: "yellow",
    RunState.STOPPING: "yellow",
    RunState.LOST: "yellow",
    RunState.SUCCEEDED: "green",
    RunState.FAILED: "red",
    RunState.CANCELLED: "dim",
}


def sparkline(values: Sequence[float], width: int = 32) -> str:
    """Heights from the smallest to the largest value; of more than `width` values evenly spaced ones.

    >>> sparkline([1, 4, 8])
    '▁▄█'
    """
    places = range(min(width, len(values)))
    shown = [values[round(k * (len(values) - 1) / max(len(places) - 1, 1))] for k in places]
    if not shown:
        return ""
    low, span = min(shown), max(shown) - min(shown)
    return "".join(_BARS[round((value - low) / span * (len(_BARS) - 1))] if span else _BARS[3] for value in shown)


def number(value: float | str | None) -> str:
    """Four significant digits; a dash for what was not measured.

    >>> number(0.000123456), number(None), number("NaN"), number(64)
    ('0.0001235', '–', 'NaN', '64')
    """
    if value is None:
        return "–"
    if isinstance(value, str) or (isinstance(value, float) and not math.isfinite(value)):
        return str(value)
    return str(value) if isinstance(value, int) else f"{value:.4g}"


def duration(seconds: float) -> str:
    """Minutes and seconds, hours where there are any.

    >>> duration(75), duration(3700)
    ('1:15', '1:01:40')
    """
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def shown(text: str, style: str = "", *, several_lines: bool = False) -> Text:
    r"""Text from others as it is: no markup, and no control or direction characters that act on the terminal.

    several_lines: whether line breaks are kept; in a table and in one line of many they break more than the text.

    >>> shown("a\x1b[31m\n").plain
    'a\\x1b[31m\\n'
    """
    return Text("".join(c if (several_lines and c == "\n") or not _acts(c) else _escape(c) for c in text), style=style)


def _acts(character: str) -> bool:
    return unicodedata.category(character) in ("Cc", "Cf", "Zl", "Zp")


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode()


def state_text(state: RunState) -> Text:
    return Text(state, style=_STATE_STYLE[state])


def runs_table(page: RunPage) -> RenderableType:
    table = Table(box=None, header_style="dim", pad_edge=False)
    for heading in ("name", "state", "steps", "batch size", "reward", "loss", "took", "id"):
        # An id is copied into the next command: it must not be cut.
        table.add_column(heading, no_wrap=True, min_width=30 if heading == "id" else None)
    for run in page.items:
        last = run.last
        table.add_row(
            shown(run.name),
            state_text(run.state),
            _steps(run),
            f"{sparkline(run.batch_sizes, 16)} {last.global_batch_size}" if last else "–",
            number(last.reward) if last else "–",
            number(last.loss) if last else "–",
            _took(run),
            run.id,
        )
    if not page.items:
        return Text("No runs. Submit one with `swell submit SPEC.yaml`.", style="dim")
    more = page.total - len(page.items)
    return Group(table, Text(f"{more} more; see them with --limit", style="dim")) if more > 0 else table


def run_details(run: RunSummary) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="dim")
    table.add_column()
    for label, value in _details(run):
        table.add_row(label, value if isinstance(value, Text) else shown(value))
    return table


def _details(run: RunSummary) -> list[tuple[str, str | Text]]:
    rows: list[tuple[str, str | Text]] = [
        ("run", run.name),
        ("id", run.id),
        ("state", state_text(run.state)),
        *([("reason", shown(run.reason, several_lines=True))] if run.reason else []),
        *([("at", run.activity)] if run.activity else []),
        ("layout", run.parallelism or "–"),
        ("batch", run.batch_policy or "–"),
        ("attempt", str(run.attempt)),
        ("steps", _steps(run)),
        ("took", _took(run)),
    ]
    if isinstance(run, Run) and run.spec is not None:
        rows.append(("seed", str(run.spec.seed)))
    if run.batch_sizes:
        span = f"{min(run.batch_sizes)} to {max(run.batch_sizes)}"
        rows.append(("batch size", f"{sparkline(run.batch_sizes, 64)}  {span}"))
    return [*rows, *last_step_rows(run.last)]


def last_step_rows(last: LastStep | None) -> list[tuple[str, str | Text]]:
    if last is None:
        return []
    prompts = "" if last.num_prompts is None else f" of {last.num_prompts} prompts"
    aggregation = "" if last.loss_aggregation is None else f" ({last.loss_aggregation})"
    return [
        # An external run need not tell how long a step took.
        ("last step", f"{last.step}, {last.step_s:.2f} s" if last.step_s > 0 else str(last.step)),
        ("samples", f"{last.global_batch_size}{prompts}"),
        ("reward", number(last.reward)),
        ("loss", f"{number(last.loss)}{aggregation}"),
        ("tokens/s", number(last.tokens_per_s)),
        ("idle", _idle(last)),
    ]


def _idle(last: LastStep) -> str:
    if last.measured_idle_frac is None:
        return "–"
    bound = "" if last.idle_bound_frac is None else f" (no schedule below {last.idle_bound_frac:.1%})"
    return f"{last.measured_idle_frac:.1%}{bound}"


def catalogue_table(catalogue: MetricCatalogue) -> Table:
    table = Table(box=None, header_style="dim", pad_edge=False)
    for heading in ("metric", "last", "min", "max", "points", "reduction"):
        table.add_column(heading)
    for metric in catalogue.items:
        extremes = (number(metric.min), number(metric.max))
        table.add_row(shown(metric.name), number(metric.last), *extremes, str(metric.num_points), metric.reduction)
    return table


def history_tables(history: MetricHistory) -> RenderableType:
    parts: list[RenderableType] = [_series_table(series, history.x) for series in history.series]
    parts += [shown(f"{error.name}: {error.message}", "red") for error in history.errors]
    return Group(*parts)


def _series_table(series: Series, x: str) -> RenderableType:
    buckets = f"{len(series.x)} buckets of {series.total} points" if series.sampled else f"{series.total} points"
    table = Table(box=None, header_style="dim", pad_edge=False)
    columns: list[tuple[str, Callable[[int], str]]] = [
        ("step", lambda k: _range(series.step[k], series.last_step[k])),
        *([] if x == "step" else [(x, lambda k: number(series.x[k]))]),
        ("value", lambda k: number(series.value[k])),
    ]
    if series.min is not None and series.max is not None:
        low, high = series.min, series.max
        columns += [("min", lambda k: number(low[k])), ("max", lambda k: number(high[k]))]
    for heading, _ in columns:
        table.add_column(heading, justify="right")
    for k in range(len(series.x)):
        table.add_row(*(cell(k) for _, cell in columns))
    for point in series.non_finite:
        table.add_row(str(point.step), *([] if x == "step" else [number(point.x)]), Text(point.value, style="red"))
    return Group(shown(f"{series.name}  {sparkline(series.value, 48)}  {buckets}", "bold"), table, Text())


def tokens_table(tokens: TokenList) -> RenderableType:
    if not tokens.items:
        return Text("No tokens. Make one with `swell tokens create NAME`.", style="dim")
    table = Table(box=None, header_style="dim", pad_edge=False)
    for heading in ("id", "name", "kind", "access", "made", "state"):
        table.add_column(heading)
    for token in tokens.items:
        state = _token_state(token)
        made = f"{token.created_at:%Y-%m-%d %H:%M}"
        table.add_row(str(token.id), shown(token.name), token.kind, token.access, made, state)
    return table


def _token_state(token: TokenInfo) -> str:
    if token.revoked_at is not None:
        return "revoked"
    if token.expires_at is None:
        return "valid"
    return "expired" if token.expires_at < datetime.now(UTC) else f"valid until {token.expires_at:%Y-%m-%d}"


def problem_text(problem: Problem, place: Callable[[str], str] | None = None) -> Text:
    """What is wrong, with a line for each field. place: where a field was written, by its JSON pointer."""
    if problem.errors:
        return Text("\n").join(_field_text(error, place) for error in problem.errors)
    # The server's title is the name of the status, which says less than its sentence; ours are words of their own.
    if problem.status is not None:
        return shown(problem.detail, "red", several_lines=True)
    return Text().append(problem.title, style="bold red").append(shown(f": {problem.detail}", several_lines=True))


def _field_text(error: FieldProblem, place: Callable[[str], str] | None) -> Text:
    where = error.pointer if error.pointer is not None else error.parameter
    text = Text()
    if place is not None and error.pointer is not None:
        text.append(f"{place(error.pointer)}  ", style="cyan")
    text.append(shown((where or "").strip("/").replace("/", ".") or "the whole", "bold red"))
    return text.append(shown(f": {error.detail}", several_lines=True))


def _steps(run: RunSummary) -> str:
    return f"{run.num_steps} of {run.total_steps}" if run.total_steps else str(run.num_steps)


def _took(run: RunSummary) -> str:
    if run.started_at is None:
        return "–"
    return duration(((run.ended_at or datetime.now(UTC)) - run.started_at).total_seconds())


def _range(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}–{last}"
