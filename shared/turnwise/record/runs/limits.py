"""Changing the limits of a run that has not ended."""

from __future__ import annotations

from decimal import Decimal

import sqlalchemy as sa

from turnwise.base.waits import BudgetWait
from turnwise.errors import ConflictError
from turnwise.record.database import driver
from turnwise.record.database.columns import word
from turnwise.record.database.schema import asks
from turnwise.record.events.run_events import LimitsChanged
from turnwise.record.states import AskStatus, RunStatus
from turnwise.record.transaction.part import TenantPart
from turnwise.record.transaction.run_transaction import RunTransaction
from turnwise.record.values.records import AskRecord, RunRecord

_DUE_NOW = (
    sa.update(asks)
    .where(
        asks.c.run_id == sa.bindparam("of_run"),
        asks.c.id == sa.bindparam("of_ask"),
        asks.c.status == word(AskStatus.RUNNABLE),
    )
    .values(due_at=None, topups=0, topup_after=None)
)


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
            return transaction.run, _due_now(transaction)


def _due_now(transaction: RunTransaction) -> AskRecord | None:
    run = transaction.run
    wait = run.waiting_for
    if run.status != RunStatus.WAITING or not isinstance(wait, BudgetWait) or wait.scope != "run":
        return None
    ask = transaction.open_ask()
    if ask is None or ask.status != AskStatus.RUNNABLE:
        return None
    driver.run(transaction.connection, _DUE_NOW, [{"of_run": run.id, "of_ask": ask.id}])
    return ask
