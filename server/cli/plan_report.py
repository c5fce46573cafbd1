"""A plan as people read it in a terminal: what it comes to, a table of some steps, curves, and remarks."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from orchestrator.contracts.plan import PlannedStep, RunPlan
from server.cli.tables import number, shown

_MOST_ROWS = 16
_CURVE_HEIGHT = 9
_MOST_CURVE_WIDTH = 78
_NARROW = 60


def plan_report(name: str, plan: RunPlan, *, width: int) -> RenderableType:
    """Everything about a plan. width: columns of the terminal."""
    parts: list[RenderableType] = [shown(f"{name}: {_summary(plan)}", "bold"), Text()]
    if plan.steps:
        parts += [_steps_table(plan, narrow=width < _NARROW), Text(), _curves(plan, min(width, _MOST_CURVE_WIDTH))]
    parts += [_maxima_table(plan), Text()]
    parts += _remarks("Assumed", plan.assumptions, "dim")
    parts += _remarks("Probably not meant", plan.warnings, "yellow")
    return Group(*parts)


def _summary(plan: RunPlan) -> str:
    sizes = [step.global_batch_size for step in plan.steps]
    before = " before the filter" if plan.kept_frac == 1 else ""
    span = "" if not sizes else f" of {_range(min(sizes), max(sizes))} samples{before}"
    dropped = f", {plan.num_dropped:,} rollouts dropped" if plan.num_dropped else ""
    return (
        f"{_counted(plan.num_steps, 'step')}{span}, {_counted(plan.num_samples, 'sample')}, "
        f"about {plan.num_tokens_expected:,} tokens{dropped}"
    )


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def _range(low: int, high: int) -> str:
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _steps_table(plan: RunPlan, *, narrow: bool) -> RenderableType:
    """Some of the steps; in a narrow terminal only what fits beside each other."""
    table = Table(box=None, header_style="dim", pad_edge=False)
    headings = ["step", "iteration", "samples", "LR", "tokens", "micro-batches", "dummies", "over cap", "idle", "bound"]
    chosen = [0, 2, 3, 5, 8] if narrow else list(range(len(headings)))
    for k in chosen:
        table.add_column(headings[k], justify="right")
    for step in _rows(plan.steps):
        cells = _cells(step)
        table.add_row(*(cells[k] for k in chosen))
    return table


def _rows(steps: Sequence[PlannedStep]) -> list[PlannedStep]:
    """Of the steps that were cut into micro-batches, or of all when none was, some that are spread over the run."""
    known = [step for step in steps if step.geometry is not None] or list(steps)
    return [known[k] for k in _spread(len(known), _MOST_ROWS)]


def _spread(count: int, most: int) -> list[int]:
    places = min(count, most)
    return [round(k * (count - 1) / max(1, places - 1)) for k in range(places)]


def _cells(step: PlannedStep) -> list[str]:
    cells = [f"{step.step:,}", f"{step.iteration:,}", f"{step.global_batch_size:,}", number(step.lr)]
    if (geometry := step.geometry) is None:
        return [*cells, *["–"] * 6]
    return [
        *cells,
        f"{geometry.num_tokens:,}",
        f"{geometry.num_microbatches} a rank",
        str(geometry.num_dummies),
        str(geometry.num_over_cap),
        f"{geometry.predicted_idle_frac:.1%}",
        f"{geometry.idle_bound_frac:.1%}",
    ]


def _curves(plan: RunPlan, width: int) -> RenderableType:
    steps = [plan.steps[k] for k in _spread(len(plan.steps), 4 * width)]
    sizes = _curve("samples of a step", steps, [float(step.global_batch_size) for step in steps], width)
    lrs = _curve("learning rate", steps, [step.lr for step in steps], width)
    return Group(sizes, lrs)


def _curve(title: str, steps: Sequence[PlannedStep], values: Sequence[float], width: int) -> Text:
    # It takes as long to import as all the rest of the command line.
    import plotext

    figure = plotext.figure
    figure.clear()
    figure.theme("colorless")
    figure.plot_size(width, _CURVE_HEIGHT)
    figure.title(title)
    places = [step.step for step in steps]
    signal = figure.signal(places, list(values))
    signal.lines()
    figure.draw(signal)
    ticks = [places[k] for k in _spread(len(places), 5)]
    figure.ruler("x").ticks(ticks, [f"{tick:,}" for tick in ticks])
    # From 0, so that a size that moves by a few samples does not look as if it jumped.
    top = max(values) or 1
    figure.ruler("y").lim(0, top)
    figure.ruler("y").ticks([0, top / 2, top], [f"{height:.4g}" for height in (0, top / 2, top)])
    return Text(plotext.uncolorize(str(figure.build())))


def _maxima_table(plan: RunPlan) -> RenderableType:
    maxima = plan.maxima
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="dim")
    table.add_column()
    table.add_row("largest step", f"{maxima.max_global_batch_size:,} samples")
    table.add_row("longest sample", f"{maxima.max_sample_tokens:,} tokens")
    table.add_row("largest micro-batch", f"{maxima.max_micro_batch_tokens:,} tokens")
    table.add_row("micro-batches", f"at most {maxima.max_num_microbatches:,} on each of {plan.dp} ranks")
    if maxima.max_micro_batch_logits_bytes is not None:
        table.add_row("largest logits", f"{maxima.max_micro_batch_logits_bytes / 2**20:,.1f} MiB on a rank, in fp32")
    idle = f"{plan.mean_predicted_idle_frac:.1%} predicted (no schedule below {plan.mean_idle_bound_frac:.1%})"
    table.add_row("idle", idle)
    return table


def _remarks(title: str, sentences: Sequence[str], style: str) -> list[RenderableType]:
    if not sentences:
        return []
    lines = [shown(f"– {sentence}", style) for sentence in sentences]
    return [Text(f"{title}:", style), *(Padding(line, (0, 0, 0, 2), expand=False) for line in lines)]
