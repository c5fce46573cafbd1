"""What the API says of metrics and their history."""

from __future__ import annotations

from enum import StrEnum

from orchestrator.contracts.messages import NonFinite
from server.page import Page
from trainer.contracts.metric import Reduction
from trainer.contracts.text_model import TextModel

MAX_QUERY_RUNS = 50
MAX_QUERY_NAMES = 100
MAX_QUERY_POINTS = 10_000
"""Of each series, when it comes as buckets."""
MAX_ANSWER_POINTS = 2_000_000
"""Of all series of one answer; they are in memory together: about 200 MB, and four seconds to read."""


class XAxis(StrEnum):
    """What a history is drawn over."""

    STEP = "step"
    SAMPLES = "samples"
    """Samples trained up to and including the step: the running sum of global_batch_size."""
    TOKENS = "tokens"
    """Tokens trained up to and including the step."""
    TIME = "time"
    """End of the step, in seconds since 1970-01-01 UTC."""
    RELATIVE = "relative"
    """Seconds from the start of the run's first step to the end of the step."""


class Aggregation(StrEnum):
    """What a bucket shows when there are more points than asked for."""

    MINMAX = "minmax"
    """Weighted mean, with the bucket's minimum and maximum beside it."""
    MEAN = "mean"
    LAST = "last"
    NONE = "none"
    """Every point, whatever max_points says."""


class MetricInfo(TextModel):
    """One metric of a run."""

    name: str
    reduction: Reduction
    num_points: int
    first_step: int
    last_step: int
    last: float | NonFinite | None
    min: float | None
    """Over finite values only."""
    max: float | None


class MetricCatalogue(Page[MetricInfo]):
    """The metrics of a run, by name. What the step's own columns tell (`global_batch_size`, ...) is among them."""


class NonFinitePoint(TextModel):
    """A value that no axis can hold, told apart by its kind."""

    x: float
    step: int
    value: NonFinite


class Series(TextModel):
    """One metric of one run and attempt, in columns of equal length. Non-finite values are not in the columns."""

    run: str
    name: str
    attempt: int
    superseded: bool
    """Whether a later attempt trained these steps again."""
    total: int
    """Points in the range, non-finite ones included."""
    sampled: bool
    """Whether the columns are buckets of several points."""
    x: tuple[float, ...]
    step: tuple[int, ...]
    """First step of the bucket."""
    last_step: tuple[int, ...]
    """Last step of the bucket; equal to `step` when not sampled."""
    value: tuple[float, ...]
    """Σ value·weight / Σ weight of the bucket for means; the declared reduction otherwise."""
    weight: tuple[float, ...]
    min: tuple[float, ...] | None
    """Null unless agg=minmax and sampled."""
    max: tuple[float, ...] | None
    non_finite: tuple[NonFinitePoint, ...]


class SeriesError(TextModel):
    """Why one of the series that were asked for is missing."""

    run: str
    name: str
    message: str


class MetricHistory(TextModel):
    """The answer to a query: the series that were found, and why others were not."""

    x: XAxis
    series: tuple[Series, ...]
    errors: tuple[SeriesError, ...]
