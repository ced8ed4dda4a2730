"""What the record knows of the whole installation, as gauges."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from turnwise.errors import EnvironmentFault
from turnwise.metrics.counters import PREFIX

if TYPE_CHECKING:
    from turnwise.runs.records import QueueStat, WorkerRecord

logger = logging.getLogger(__name__)


class RecordReader(Protocol):
    """The queries that `RecordCollector` makes; the store has them."""

    def run_counts(self) -> Mapping[str, int]:
        """Unfinished runs by status."""
        ...

    def queue_stats(self) -> Sequence[QueueStat]: ...

    def workers(self) -> Sequence[WorkerRecord]: ...

    def open_question_count(self) -> int:
        """Questions that wait for a human."""
        ...


class RecordCollector(Collector):
    """Gauges read from the record at a scrape, at most every `max_age` seconds.

    While the database does not answer they are left out, so that a scrape still gets what the process counted itself.
    """

    def __init__(self, store: RecordReader, *, max_age: float = 2.0, clock: Callable[[], float] = time.monotonic):
        self._store = store
        self._max_age = max_age
        self._clock = clock
        self._lock = threading.Lock()
        self._read_at: float | None = None
        self._families: list[Metric] = []

    def describe(self) -> Iterable[Metric]:
        """Names without values, so that registering needs no database."""
        return _families()

    def collect(self) -> Iterable[Metric]:
        """The families, from the cache while it is fresh; concurrent scrapes share one reading."""
        with self._lock:
            if self._read_at is None or self._clock() - self._read_at >= self._max_age:
                self._families = self._read()
                self._read_at = self._clock()
            return list(self._families)

    def _read(self) -> list[Metric]:
        try:
            counts, questions = self._store.run_counts(), self._store.open_question_count()
            stats, workers = self._store.queue_stats(), self._store.workers()
        except EnvironmentFault as error:
            logger.warning("The gauges of the record are left out: %s", error, extra={"action": "gauges_left_out"})
            return []
        runs, depth, age, backlog, fleet, inbox = families = _families()
        for status in ("queued", "running", "waiting"):
            runs.add_metric([status], counts.get(status, 0))
        for stat in stats:
            depth.add_metric([stat.queue, "runnable"], stat.runnable)
            depth.add_metric([stat.queue, "leased"], stat.leased)
            depth.add_metric([stat.queue, "delayed"], stat.delayed)
            age.add_metric([stat.queue], stat.oldest_age)
            backlog.add_metric([stat.queue], stat.runnable + stat.leased)
        for (queue, state), n in Counter((queue, one.state) for one in workers for queue in one.queues).items():
            fleet.add_metric([queue, state], n)
        inbox.add_metric([], questions)
        return list(families)


def _families() -> list[GaugeMetricFamily]:
    def gauge(name: str, help: str, *labels: str) -> GaugeMetricFamily:
        return GaugeMetricFamily(f"{PREFIX}_{name}", help, labels=labels)

    return [
        gauge("runs_active", "Unfinished runs.", "status"),
        gauge("queue_depth", "Asks of a queue: runnable, leased, or delayed (not yet due).", "queue", "state"),
        gauge("queue_oldest_age_seconds", "Age of the oldest ask that nobody took.", "queue"),
        gauge("backlog", "Runnable and leased asks of a queue; scale its workers by this.", "queue"),
        gauge("workers", "Worker processes that serve a queue, by state.", "queue", "state"),
        gauge("human_inbox_open", "Questions that wait for a human."),
    ]
