"""The server's own figures, in the form that Prometheus asks for. Labels are few and bounded: no run is ever one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

CONTENT_TYPE = CONTENT_TYPE_LATEST
_METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))


class ServerFigures:
    """Counts what happens, safe from any thread. A registry of its own: two servers in one process do not mix."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "swell_http_requests", "Requests answered.", ("method", "route", "status"), registry=self._registry
        )
        self._request_s = Histogram(
            "swell_http_request_seconds",
            "Seconds until an answer begins.",
            ("method", "route"),
            registry=self._registry,
        )
        self._steps = Counter("swell_steps_recorded", "Steps recorded.", registry=self._registry)
        self._points = Counter("swell_points_recorded", "Values of metrics recorded.", registry=self._registry)
        self._duplicates = Counter("swell_steps_repeated", "Steps that were known already.", registry=self._registry)

    def watch(
        self, *, num_queued_writes: Callable[[], int], num_streams: Callable[[], int], runs: _RunsByState
    ) -> None:
        """Ask these whenever somebody asks for the figures."""
        gauges = (
            ("swell_queued_writes", "Writes that wait for the database.", num_queued_writes),
            ("swell_live_streams", "Open live streams.", num_streams),
        )
        for name, meaning, ask in gauges:
            Gauge(name, meaning, registry=self._registry).set_function(ask)
        self._registry.register(_Runs(runs))

    def answered(self, *, method: str, route: str | None, status: int, seconds: float) -> None:
        """Count an answer. route: the path with its placeholders, None where there is no such route."""
        method, route = method if method in _METHODS else "other", route or "other"
        self._requests.labels(method, route, str(status)).inc()
        self._request_s.labels(method, route).observe(seconds)

    def recorded(self, *, num_steps: int, num_points: int, num_duplicates: int) -> None:
        self._steps.inc(num_steps)
        self._points.inc(num_points)
        self._duplicates.inc(num_duplicates)

    def text(self) -> bytes:
        """All figures as Prometheus reads them."""
        return generate_latest(self._registry)


_RunsByState = Callable[[], Mapping[str, int]]


class _Runs(Collector):
    def __init__(self, runs: _RunsByState) -> None:
        self._runs = runs

    def collect(self) -> Iterable[GaugeMetricFamily]:
        family = GaugeMetricFamily("swell_runs", "Runs by state.", labels=["state"])
        for state, count in self._runs().items():
            family.add_metric([state], count)
        yield family

    def describe(self) -> Iterable[GaugeMetricFamily]:
        # Otherwise the registry would ask the database while the server is being built.
        return [GaugeMetricFamily("swell_runs", "Runs by state.")]
