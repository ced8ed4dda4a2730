"""Deletes, between sweeps, what the settings say is kept no longer."""

from __future__ import annotations

import logging

from turnwise.base.ids import new_id
from turnwise.processes.settings import ServiceSettings
from turnwise.record.roles.coordinator import CoordinatorRole
from turnwise.record.upkeep.purging import OldRun, Retention
from turnwise.serving.observer import Observer

logger = logging.getLogger(__name__)

# The name of its lease, beside those of the queues.
_LEASE = "retention"
# Runs looked up at a time, and rows of the audit log deleted in a sweep.
_BATCH = 50
_AUDIT_ROWS = 500
# Of the time between two sweeps: what is deleted waits for no one, but sweeps wait for it.
_SHARE = 0.25
# Seconds until the next look, once everything was looked at.
_REST = 60.0
_BUDGETS_REST = 3_600.0


class RetentionSweep:
    """One coordinator of an installation deletes at a time, in short transactions, for a part of each sweep.

    Where no retention is set, only the budgets of days and months that are over are deleted, and idempotency keys of
    requests of a week ago.
    """

    def __init__(self, record: CoordinatorRole, settings: ServiceSettings, observers: Observer) -> None:
        self._record = record
        self._observers = observers
        self._interval = settings.sweep_seconds
        self._retention: Retention | None = None
        if settings.retention is not None:
            self._retention = Retention(older_than=settings.retention, statuses=tuple(settings.retention_statuses))
        self._audit_retention = settings.audit_retention
        self._holder = new_id("ret")
        self._clock = record.clock
        self._after: OldRun | None = None
        self._next_runs = self._next_audit = self._next_budgets = self._clock.monotonic()

    def sweep(self) -> None:
        """Delete for a while, if it is time and no other coordinator does; raises `DatabaseUnavailableError`."""
        now = self._clock.monotonic()
        runs_due = self._retention is not None and now >= self._next_runs
        audit_due = self._audit_retention is not None and now >= self._next_audit
        if not (runs_due or audit_due or now >= self._next_budgets):
            return
        if not self._record.sweep_lease(_LEASE, self._holder, max(self._interval * 3, 5.0)):
            self._after, self._next_budgets = None, now + _BUDGETS_REST
            self._next_runs = self._next_audit = now + _REST
            return
        if now >= self._next_budgets:
            self._record.forget_old_budgets()
            more = self._record.forget_old_requests(_AUDIT_ROWS) == _AUDIT_ROWS
            self._next_budgets = now if more else now + _BUDGETS_REST
        if self._audit_retention is not None and audit_due:
            deleted = self._record.forget_old_audit(self._audit_retention, _AUDIT_ROWS)
            self._next_audit = now if deleted == _AUDIT_ROWS else now + _REST
        if self._retention is not None and runs_due:
            self._record.purge_batches(self._retention.older_than)
            self._purge(self._retention, now + self._interval * _SHARE)

    def _purge(self, retention: Retention, until: float) -> None:
        found = self._record.old_runs(retention, _BATCH, self._after)
        deleted = 0
        for old in found:
            self._after = old  # also if it cannot be deleted: the others can
            if self._record.purge_run(old.id, retention):
                self._observers.run_purged(old)
                deleted += 1
            if self._clock.monotonic() >= until:
                break
        else:
            if len(found) < _BATCH:  # that was all; what had to be kept is looked at again later
                self._after, self._next_runs = None, self._clock.monotonic() + _REST
        if deleted:
            logger.debug("Deleted %d old runs", deleted, extra={"action": "purged", "runs": deleted})
