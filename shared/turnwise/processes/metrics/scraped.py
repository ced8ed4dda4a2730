"""Gauges that are read from elsewhere when Prometheus scrapes, and not more often than they change."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Sequence

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from turnwise.errors import TurnwiseError
from turnwise.processes.metrics.counters import PREFIX

logger = logging.getLogger(__name__)

# So many seconds a scrape waits for a reading. Prometheus gives a scrape up after 10, and a page has two readings.
PATIENCE = 3.0

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

    While the database is away, does not answer in time, or refuses to, all of them are left out, so that a scrape still
    gets what the process counted itself. No scrape is told an error, which may quote what a tenant wrote.
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
        self._reading: _Reading | None = None

    def describe(self) -> Iterable[Metric]:
        """Names without values, so that registering needs no database."""
        return MetricsPage(self._gauges).families.values()

    def collect(self) -> Iterable[Metric]:
        """The families, from the cache while it is fresh."""
        with self._lock:
            if self._reading is None or self._reading.is_spent(self._max_age):
                self._reading = _Reading(self._fresh, self._clock)
            reading = self._reading
        return list(reading.families())

    def _fresh(self) -> list[Metric]:
        page = MetricsPage(self._gauges)
        try:
            self._read(page)
        except TurnwiseError as error:
            _tell(error)
            return []
        return list(page.families.values())


class _Reading:
    """One reading, on a thread of its own: whoever waits for a database that hangs can do no more than stop waiting.

    Its thread ends when the database answers, or the driver gives up. Until then there is no other reading.
    """

    def __init__(self, read: Callable[[], list[Metric]], clock: Callable[[], float]) -> None:
        self._read = read
        self._clock = clock
        self._until = time.monotonic() + PATIENCE
        self._lock = threading.Lock()
        self._late = False
        self._over = threading.Event()
        self._ended_at = 0.0
        self._found: list[Metric] = []
        self._error: Exception | None = None
        threading.Thread(target=self._run, name="turnwise-gauges", daemon=True).start()

    def is_spent(self, max_age: float) -> bool:
        """Return whether it is over and shown no longer: it failed, is too old, or was late and has older parts."""
        if not self._over.is_set():
            return False
        return self._late or self._error is not None or self._clock() - self._ended_at >= max_age

    def families(self) -> list[Metric]:
        """Return what was read, and nothing once it is late."""
        if not self._over.wait(max(0.0, self._until - time.monotonic())):
            self._leave_out()
        if self._late:
            return []
        if self._error is not None:
            raise self._error
        return self._found

    def _leave_out(self) -> None:
        with self._lock:
            told, self._late = self._late, True
        if not told:
            _tell(f"the database has not answered within {PATIENCE:g} s")

    def _run(self) -> None:
        try:
            self._found = self._read()
        except Exception as error:  # noqa: BLE001 - it is raised in whoever waits
            self._error = error
        finally:
            self._ended_at = self._clock()
            self._over.set()


def _tell(why: object) -> None:
    logger.warning("The gauges of the record are left out: %s", why, extra={"action": "gauges_left_out"})
