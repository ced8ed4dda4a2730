"""Asks whose run waits for a budget that has changed: they are due at once."""

from __future__ import annotations

from collections.abc import Container

import sqlalchemy as sa

from turnwise.base.waits import BudgetWait
from turnwise.record.budgets.budgets import SESSION, TENANT_DAY, TENANT_MONTH
from turnwise.record.database import driver
from turnwise.record.database.access_schema import tenants
from turnwise.record.database.columns import now, parts_of, word
from turnwise.record.database.schema import asks, runs
from turnwise.record.states import AskStatus, RunStatus
from turnwise.record.transaction.run_transaction import RunTransaction
from turnwise.record.values.records import AskRecord

_OF_TENANT = (TENANT_DAY, TENANT_MONTH)
# Budgets whose limits may come from the settings.
OF_SETTINGS = (SESSION, *_OF_TENANT)

_DUE_NOW = (
    sa.update(asks)
    .where(
        asks.c.run_id == sa.bindparam("of_run"),
        asks.c.id == sa.bindparam("of_ask"),
        asks.c.status == word(AskStatus.RUNNABLE),
    )
    .values(due_at=None, topups=0, topup_after=None)
)
_WAITING = (
    sa.select(runs.c.id)
    .join(asks, asks.c.run_id == runs.c.id)
    .where(
        asks.c.status == word(AskStatus.RUNNABLE),
        asks.c.due_at.is_not(None),
        runs.c.status == word(RunStatus.WAITING),
    )
    .limit(sa.bindparam("most", type_=sa.Integer))
)
_scope = parts_of(runs.c.waiting_for)["scope"].as_string()
_known_at = tenants.c.updated_at + sa.bindparam("known_after", type_=sa.Double)
# Runs whose last look at the budget was by limits that may have been out of date, now that all know the new ones.
WAITING_FOR_OLD_LIMITS = _WAITING.join(tenants, tenants.c.id == runs.c.tenant).where(
    tenants.c.updated_at > now() - sa.bindparam("within", type_=sa.Double),
    _known_at <= now(),
    asks.c.claimed_at <= _known_at,
    _scope.in_(_OF_TENANT),
)
# Runs whose last look was by a process that is gone, now that all who may look have begun after it, with the settings
# of then.
WAITING_FOR_OLD_SETTINGS = _WAITING.where(
    asks.c.queue == sa.bindparam("of_queue"),
    asks.c.claimed_at < sa.bindparam("began", type_=sa.Double),
    _scope.in_(OF_SETTINGS),
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
