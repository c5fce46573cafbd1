"""The ids of the metrics of runs that were recorded lately, so that a step need not look them up.

Used in the writer's thread only. A metric keeps its id and its reduction for as long as its run is there, and an id of
a run is never given again: what is known here is never wrong, at most not all. It is kept once it is committed.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

from sqlalchemy import Connection, bindparam, insert, select

from server.database.tables import metric_names
from server.database.writer import Transaction
from server.errors import InvalidError
from server.ingest.open_run import OpenRun
from server.ingest.prepared_step import PreparedStep
from trainer.contracts.metric import Reduction

Known = dict[str, tuple[int, Reduction]]
"""Id and reduction by name."""
_MAX_RUNS = 128
_OF_RUN = select(metric_names.c.name, metric_names.c.id, metric_names.c.reduction).where(
    metric_names.c.run_key == bindparam("this_run")
)


class MetricCatalogue:
    """One per server."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, Known] = OrderedDict()

    def ids(self, transaction: Transaction, run: OpenRun, prepared: Sequence[PreparedStep]) -> dict[str, int]:
        """The id of each metric of these steps; new ones are added. Raises InvalidError for another reduction."""
        known = self._known.get(run.id, {})
        if any(not step.metrics.keys() <= known.keys() for step in prepared):
            known = _stored(transaction.connection, run.key)
        new = _new_metrics(known, prepared)
        if new:
            rows = [{"run_key": run.key, "name": name, "reduction": reduction} for name, reduction in new.items()]
            transaction.connection.execute(insert(metric_names), rows)
            known = _stored(transaction.connection, run.key)
        transaction.after_commit(lambda: self._remember(run.id, known))
        return {name: metric_id for name, (metric_id, _) in known.items()}

    def _remember(self, run_id: str, known: Known) -> None:
        self._known[run_id] = known
        self._known.move_to_end(run_id)
        if len(self._known) > _MAX_RUNS:
            self._known.popitem(last=False)


def _new_metrics(known: Known, prepared: Sequence[PreparedStep]) -> dict[str, Reduction]:
    """Those that the run does not have yet. A metric keeps the reduction that it began with."""
    new: dict[str, Reduction] = {}
    for step in prepared:
        for name, metric in step.metrics.items():
            reduction = known[name][1] if name in known else new.setdefault(name, metric.reduction)
            if reduction is not metric.reduction:
                at = step.metric_pointer(name) + "/reduction"
                told = f"is {metric.reduction} at step {step.step}, but {name} is reduced by {reduction}"
                raise InvalidError([(at, told)])
    return new


def _stored(connection: Connection, run_key: int) -> Known:
    rows = connection.execute(_OF_RUN, {"this_run": run_key})
    return {name: (metric_id, Reduction(reduction)) for name, metric_id, reduction in rows}
