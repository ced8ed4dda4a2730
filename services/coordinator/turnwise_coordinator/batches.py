"""Begins the next items of batches, when a run of theirs has ended and in sweeps."""

from __future__ import annotations

import logging

from turnwise.errors import EnvironmentFault
from turnwise.processes.settings import ServiceSettings
from turnwise.record.database.lock_waits import PATIENCE
from turnwise.record.roles.coordinator import CoordinatorRole
from turnwise.record.values.records import RunRecord
from turnwise.serving.batch_feeder import BatchFeeder
from turnwise.serving.dispatcher import Dispatcher
from turnwise.serving.observer import Observer

logger = logging.getLogger(__name__)


class Batches:
    """Feeds batches of all tenants; any coordinator may, because the batch's row is locked meanwhile."""

    def __init__(
        self, record: CoordinatorRole, dispatcher: Dispatcher, settings: ServiceSettings, observers: Observer
    ) -> None:
        self._record = record
        self._most = settings.tenant_max_unfinished_runs
        self._expiry = settings.batch_expiry or None
        self._feeder = BatchFeeder(record, dispatcher, observers)
        self._after = ""  # where the next sweep begins

    def run_ended(self, run: RunRecord) -> None:
        """Begin the next item of the run's batch, if it has one; a sweep does it if that fails."""
        if run.batch_id is not None:
            self._feeder.feed(run.batch_id, self._most_of(run.tenant))

    def sweep(self) -> None:
        """Feed the batches that no one has fed, and end those that are over or expire; raises `EnvironmentFault`."""
        slow: set[str] = set()  # each is waited for once, so that one of them does not take up the sweep
        for batch_id, tenant in self._record.due_batches(self._expiry, self._after):
            self._after = batch_id  # also if it cannot be fed: the others can
            try:
                patience = 0.0 if tenant in slow else PATIENCE
                if self._feeder.feed(batch_id, self._most_of(tenant), wait=False, patience=patience):
                    slow.add(tenant)
            except EnvironmentFault:
                raise
            except Exception:
                # One batch that cannot be fed must not keep the sweeper from all the others.
                logger.exception("The batch %s could not be fed", batch_id, extra={"action": "batch_not_fed"})

    def _most_of(self, tenant: str) -> int | None:
        return self._record.tenant_limits(tenant).most_unfinished_runs(self._most)
