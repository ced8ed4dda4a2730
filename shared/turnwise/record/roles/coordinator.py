"""The role of a coordinator: the moves of runs, sweeps, schedules, and the deletion of what is kept no longer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from turnwise.record.asks.pauses import EndedPauses
from turnwise.record.asks.sweep import Sweep
from turnwise.record.batches.batch_feeding import DueBatches
from turnwise.record.batches.batch_purging import BatchPurges
from turnwise.record.budgets.left_usage import LeftUsage
from turnwise.record.budgets.providers import ProviderLines
from turnwise.record.roles.budgets import BudgetRole
from turnwise.record.runs.queries import RunLookup
from turnwise.record.schedules.declarations import DeclaredSchedules
from turnwise.record.schedules.firing import DueSchedules
from turnwise.record.tenants.audit_log import AuditRetention
from turnwise.record.tenants.reach import EVERY_TENANT
from turnwise.record.tenants.tenants import KnownLimits
from turnwise.record.transaction.core import Core
from turnwise.record.transaction.run_transaction import RunTransaction
from turnwise.record.upkeep.purging import Purges
from turnwise.record.upkeep.sampling import Sampling
from turnwise.record.webhooks.outbox import Outbox


class CoordinatorRole(
    Sweep,
    ProviderLines,
    EndedPauses,
    LeftUsage,
    Purges,
    AuditRetention,
    Sampling,
    DueSchedules,
    DeclaredSchedules,
    DueBatches,
    BatchPurges,
    KnownLimits,
    Outbox,
    RunLookup,
):
    """Makes the moves of all tenants' runs, and looks after what no one else does."""

    def __init__(self, core: Core) -> None:
        super().__init__(core, EVERY_TENANT)

    @property
    def budgets(self) -> BudgetRole:
        """Return the role for the budgets of tenants and sessions."""
        return BudgetRole(self._core, EVERY_TENANT)

    @contextmanager
    def locked(self, run_id: str, *, wait: bool = True) -> Iterator[RunTransaction]:
        """One writing transaction over a run, which waits for the lock of its row; an exception leaves nothing of it.

        Raises `NotFoundError` for an unknown run and, unless it is to `wait`, `RunChangedError` while another
        transaction has the run, or for longer than a sweep may wait something that the run needs.
        """
        with self._locked(run_id) if wait else self._lock_if_free(run_id) as transaction:
            yield transaction
