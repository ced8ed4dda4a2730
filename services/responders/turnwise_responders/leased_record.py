"""Receipts of a process that holds a lease."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from turnwise.record.roles.worker import WorkerRole
from turnwise.record.values.outcomes import Receipt
from turnwise.record.values.records import Claim
from turnwise.serving.incarnation import Incarnation

UntilBack = Callable[[Claim, Callable[[], bool]], bool | None]


class LeasedRecord:
    """Writes receipts, waiting with `until_back` while the database is away; knows whether the lease still runs."""

    def __init__(self, store: WorkerRole, incarnation: Incarnation, until_back: UntilBack) -> None:
        self._store = store
        self._incarnation = incarnation
        self._until_back = until_back

    def keep(self, claim: Claim, receipts: Sequence[Receipt]) -> bool | None:
        """Write them; False if the ask is another's by now, None if this process ends before it could."""
        return self._until_back(claim, lambda: self._store.keep_receipts(claim, receipts))

    def holds(self, claim: Claim) -> bool:
        """Return whether the lease under which the ask was claimed was renewed in time, by this process's own clock."""
        return self._incarnation.current() == claim.worker_id
