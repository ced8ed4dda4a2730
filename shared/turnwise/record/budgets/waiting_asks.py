"""Asks whose run waits for a budget that has changed: they are due at once."""

from __future__ import annotations

from collections.abc import Container

import sqlalchemy as sa

from turnwise.base.waits import BudgetWait
from turnwise.record.budgets.budgets import TENANT_DAY, TENANT_MONTH
from turnwise.record.database import driver
from turnwise.record.database.access_schema import tenants
from turnwise.record.database.columns import now, word
from turnwise.record.database.schema import asks, runs
from turnwise.record.states import AskStatus, RunStatus
from turnwise.record.transaction.run_transaction import RunTransaction
from turnwise.record.values.records import AskRecord

OF_TENANT = (TENANT_DAY, TENANT_MONTH)

_DUE_NOW = (
    sa.update(asks)
    .where(
        asks.c.run_id == sa.bindparam("of_run"),
        asks.c.id == sa.bindparam("of_ask"),
        asks.c.status == word(AskStatus.RUNNABLE),
    )
    .values(due_at=None, topups=0, topup_after=None)
)
_since = tenants.c.updated_at + sa.bindparam("known_after", type_=sa.Double)
# Runs whose last look at the budget was by limits that may have been out of date, now that all know the new ones.
WAITING_FOR_OLD_LIMITS = (
    sa.select(runs.c.id)
    .join(tenants, tenants.c.id == runs.c.tenant)
    .join(asks, asks.c.run_id == runs.c.id)
    .where(
        tenants.c.updated_at > now() - sa.bindparam("within", type_=sa.Double),
        _since <= now(),
        asks.c.status == word(AskStatus.RUNNABLE),
        asks.c.due_at.is_not(None),
        asks.c.claimed_at <= _since,
        runs.c.status == word(RunStatus.WAITING),
        runs.c.waiting_for["scope"].as_string().in_(OF_TENANT),
    )
    .limit(sa.bindparam("most", type_=sa.Integer))
)


def due_now(transaction: RunTransaction, scopes: Container[str]) -> AskRecord | None:
    """Make the ask due whose run waits for a budget of one of these scopes; None where it waits for none of them."""
    run = transaction.run
    wait = run.waiting_for
    if run.status != RunStatus.WAITING or not isinstance(wait, BudgetWait) or wait.scope not in scopes:
        return None
    ask = transaction.open_ask()
    if ask is None or ask.status != AskStatus.RUNNABLE:
        return None
    driver.run(transaction.connection, _DUE_NOW, [{"of_run": run.id, "of_ask": ask.id}])
    return ask
