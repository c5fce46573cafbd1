"""Where the time of a step goes, from its record's timeline. Pure; `bench/train_ours.py` adds up several steps."""

from __future__ import annotations

from itertools import pairwise

from orchestrator.contracts.timeline_message import TimelineColumns
from trainer.contracts.span import Activity

PARTS = (
    Activity.GENERATE,
    Activity.LOG_PROBS,
    Activity.FORWARD_BACKWARD,
    Activity.OPTIMIZER,
    Activity.PUSH,
)
"""In the order of a step. Scoring, scheduling, records and messages between processes are what is left."""


def parts_s(timeline: TimelineColumns) -> dict[Activity, float]:
    """Seconds of the clock by part; together they are at most the step's.

    A moment in which actors do different things belongs to the earlier part: the others wait for whoever is still at
    it. A rank that has ended its last backward is at its optimizer, which begins by waiting for the other gradients.
    """
    spans = list(zip(timeline.activity, timeline.start_s, timeline.end_s, strict=True))
    seconds = dict.fromkeys(PARTS, 0.0)
    for start_s, end_s in pairwise(sorted({*timeline.start_s, *timeline.end_s})):
        going_on = {activity for activity, begin_s, until_s in spans if begin_s <= start_s and end_s <= until_s}
        part = next((part for part in PARTS if part in going_on), None)
        if part is not None:
            seconds[part] += end_s - start_s
    return seconds
