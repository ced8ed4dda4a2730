"""Makes the moves of runs, and sweeps."""

from __future__ import annotations

import logging

from turnwise.app import App
from turnwise.bus.base import Bus
from turnwise.metrics import Metrics
from turnwise.runs.store import Store
from turnwise.service_settings import ServiceSettings
from turnwise.serving.move import Moved, Mover
from turnwise.serving.observing import tell_callbacks
from turnwise.serving.reporting import Reporter
from turnwise_coordinator.sweeper import Sweeper

logger = logging.getLogger(__name__)


class Coordinator:
    """One coordinator of an installation; any number may run, and each may die at any point."""

    def __init__(self, store: Store, bus: Bus, app: App, settings: ServiceSettings, metrics: Metrics) -> None:
        self._store = store
        self._app = app
        self._reporter = Reporter(bus, metrics)
        self._mover = Mover(
            app=app,
            llm_queues=settings.llm_queues,
            agent_queues=settings.agent_queues,
            max_attempts=settings.max_attempts,
        )
        self._sweeper = Sweeper(store, bus, self.move, self._reporter, settings)

    def move(self, run_id: str) -> Moved:
        """Make the run's moves until somebody outside has to act; harmless if there is nothing to do.

        The run is locked meanwhile, so no reply and no cancellation can come in unseen: whoever writes one afterwards
        wakes a coordinator. Raises `NotFoundError` for an unknown run, `DatabaseUnavailableError` while the database
        is away (the sweeper comes back to it).
        """
        with self._store.locked(run_id) as tx:
            moved = self._mover.move(tx)
        self._reporter.moved(moved)
        tell_callbacks(self._app, moved)
        return moved

    def start(self) -> None:
        """Begin to sweep, on a thread of its own."""
        self._sweeper.start()

    def stop(self) -> None:
        """Stop sweeping; returns when the last pass is over."""
        self._sweeper.stop()
