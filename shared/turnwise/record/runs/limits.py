"""Changing the limits of a run that has not ended."""

from __future__ import annotations

from decimal import Decimal

from turnwise.errors import ConflictError
from turnwise.record.budgets.waiting_asks import due_now
from turnwise.record.events.run_events import LimitsChanged
from turnwise.record.transaction.part import TenantPart
from turnwise.record.values.records import AskRecord, RunRecord


class RunLimits(TenantPart):
    """The limits that a person may change while a run is active."""

    def change_limits(
        self, run_id: str, *, max_cost: Decimal | None = None, max_tokens: int | None = None
    ) -> tuple[RunRecord, AskRecord | None]:
        """Give the run other limits of its own (None leaves one); the run, and the ask that waited for that.

        That ask is due now; the caller publishes a permit for it. A call that is under way keeps what it was granted.
        Raises `NotFoundError`, and `ConflictError` (`already_ended`).
        """
        with self._locked(run_id) as transaction:
            run = transaction.run
            if run.ended:
                raise ConflictError(f"the run {run_id} has already ended: {run.status}", code="already_ended")
            if max_cost is not None:
                transaction.change(max_cost=max_cost)
            if max_tokens is not None:
                transaction.change(max_tokens=max_tokens)
            transaction.event(LimitsChanged(max_cost=max_cost, max_tokens=max_tokens))
            self._audited(transaction.connection, run_id)
            return transaction.run, due_now(transaction, ("run",))
