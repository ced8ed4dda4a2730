"""Gauges that are read from elsewhere when Prometheus scrapes, and not more often than they change."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Sequence

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from turnwise.errors import EnvironmentFault
from turnwise.processes.metrics.counters import PREFIX

logger = logging.getLogger(__name__)

# Name, help, labels.
Gauges = Sequence[tuple[str, str, tuple[str, ...]]]


class MetricsPage:
    """Families of gauges by name, without values at first."""

    def __init__(self, gauges: Gauges) -> None:
        self.families: dict[str, Metric] = {
            name: GaugeMetricFamily(f"{PREFIX}_{name}", help, labels=labels) for name, help, labels in gauges
        }

    def add(self, name: str, value: float, *labels: str) -> None:
        """Add a value of one of them."""
        family = self.families[name]
        assert isinstance(family, GaugeMetricFamily)
        family.add_metric(labels, value)


class ScrapedGauges(Collector):
    """Gauges that `read` fills in, at most every `max_age` seconds; concurrent scrapes share one reading.

    While the database is away all of them are left out, so that a scrape still gets what the process counted itself.
    """

    def __init__(
        self,
        gauges: Gauges,
        read: Callable[[MetricsPage], None],
        max_age: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._gauges = gauges
        self._read = read
        self._max_age = max_age
        self._clock = clock
        self._lock = threading.Lock()
        self._read_at: float | None = None
        self._families: list[Metric] = []

    def describe(self) -> Iterable[Metric]:
        """Names without values, so that registering needs no database."""
        return MetricsPage(self._gauges).families.values()

    def collect(self) -> Iterable[Metric]:
        """The families, from the cache while it is fresh."""
        with self._lock:
            if self._read_at is None or self._clock() - self._read_at >= self._max_age:
                self._families = self._fresh()
                self._read_at = self._clock()
            return list(self._families)

    def _fresh(self) -> list[Metric]:
        page = MetricsPage(self._gauges)
        try:
            self._read(page)
        except EnvironmentFault as error:
            logger.warning("The gauges of the record are left out: %s", error, extra={"action": "gauges_left_out"})
            return []
        return list(page.families.values())
