"""A process's view of its database and its broker, taken into its metrics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from turnwise.processes.metrics.counters import Metrics
from turnwise.processes.metrics.multiprocess import counting_folder


class MeasuredPool(Protocol):
    """A pool of connections; that of a `Database` is one."""

    limit: int
    on_wait: Callable[[float, bool], None] | None

    @property
    def in_use(self) -> int: ...

    def on_use(self, changed: Callable[[int], None]) -> None: ...


class Watched(Protocol):
    """Connections that tell how they are; those of a `CeleryBus` are."""

    def watch(self, changed: Callable[[str, bool], None]) -> None: ...


def watch_database(metrics: Metrics, pool: MeasuredPool) -> None:
    """Show how much of the pool is at work, and measure waits for it."""

    def waited(seconds: float, served: bool) -> None:
        metrics.database_pool_wait_seconds.observe(seconds)
        if not served:
            metrics.database_pool_timeouts_total.inc()

    pool.on_wait = waited
    metrics.database_connections_limit.set(pool.limit)
    if counting_folder() is not None:  # what others read is a file, which no function could fill in
        metrics.database_connections_in_use.set(pool.in_use)
        pool.on_use(metrics.database_connections_in_use.inc)
    else:
        metrics.database_connections_in_use.set_function(lambda: pool.in_use)


def watch_broker(metrics: Metrics, connections: Watched) -> None:
    """Show which connections to the broker work, and count those that had to be made anew."""
    lost: set[str] = set()

    def changed(purpose: str, up: bool) -> None:
        metrics.broker_connected.labels(purpose).set(int(up))
        again = metrics.broker_reconnects_total.labels(purpose)
        if not up:
            lost.add(purpose)
        elif purpose in lost:
            lost.discard(purpose)
            again.inc()

    connections.watch(changed)
