"""Budgets of limits that were lifted or set: their rows do not know of the calls that were made without a limit.

A row without a limit is marked: whoever uses it under a limit counts anew what was spent. A row is marked when its
tenant's limits change, and by a sweep while no limit is in force. Processes learn of a tenant's new limits within some
seconds, and calls that were under way then have reserved nothing; so such budgets are counted anew for a while. Runs
that wait for such a budget look again when the processes know. Limits of the settings change with the processes.
"""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from turnwise.record.asks.fleet import oldest_servers
from turnwise.record.budgets.budgets import (
    SESSION,
    TENANT_DAY,
    TENANT_MONTH,
    ScopeLimits,
    at_least,
    keys_of_tenant,
    locked_budget,
    save_budgets,
    spent_by_tenant,
)
from turnwise.record.budgets.waiting_asks import (
    OF_SETTINGS,
    WAITING_FOR_OLD_LIMITS,
    WAITING_FOR_OLD_SETTINGS,
    due_now,
)
from turnwise.record.database import driver
from turnwise.record.database.access_schema import tenants
from turnwise.record.database.budget_tables import budgets
from turnwise.record.database.columns import now, word
from turnwise.record.database.lock_waits import impatient
from turnwise.record.transaction.sweeping_part import SweepingPart

# Seconds for which a process goes by what it has read of a tenant's limits.
TRUSTED_SECONDS = 5.0
# Rows in one transaction: there is one for each session.
TOGETHER = 500
# Seconds after which no call is under way any more that began before its tenant's limits changed.
_UNDER_WAY = 600.0
_IS_MARKED = sa.and_(budgets.c.limit_cost.is_(None), budgets.c.limit_tokens.is_(None))
_MARK = sa.update(budgets).values(limit_cost=None, limit_tokens=None)
_MARK_ONE = _MARK.where(budgets.c.scope == sa.bindparam("of_scope"), budgets.c.scope_id == sa.bindparam("of_id"))
_CHANGED = sa.select(tenants.c.id).where(tenants.c.updated_at > now() - _UNDER_WAY).order_by(tenants.c.id)
# What follows the tenant's name in the ids of a scope.
_PERIODS = {TENANT_DAY: len("/2026-11-21"), TENANT_MONTH: len("/2026-11")}


class LiftedLimits(SweepingPart):
    """Keeps what budgets know in step with the limits that are in force."""

    def note_lifted_limits(self, limits: ScopeLimits) -> int:
        """Mark the budgets that no limit is in force for; `limits` are those of the settings. Return their number.

        What another transaction holds is left to the next time. Calls wait for no more than a part of them.
        """
        marked = 0
        while True:
            with self._database.begin() as connection:
                found = connection.execute(_mark_lifted(limits)).rowcount
            marked += found
            if found < TOGETHER:
                return marked

    def recount_new_limits(self) -> None:
        """Count anew what tenants have spent whose limits have changed in the last ten minutes.

        A budget that another transaction locks for longer than a sweep may wait is counted the next time.
        """
        with self._database.read() as connection:
            at = self._database.now(connection)
            changed = connection.scalars(_CHANGED).all()
        for tenant in changed:
            with impatient(self._database) as connection:
                for key in keys_of_tenant(tenant, at):
                    budget = locked_budget(connection, key)
                    if budget is not None and budget.limited:
                        save_budgets(connection, [at_least(budget, *spent_by_tenant(connection, key, tenant))])

    def look_again(self, known_after: float = TRUSTED_SECONDS) -> int:
        """Make runs look again that wait for a budget whose limits may have changed; return their number.

        Each looks once for a change of its tenant's limits, when the processes know of it, `known_after` seconds later,
        and once when all processes that may look have begun since its last look, for they may have other settings.
        What another transaction holds is left to the next time.
        """
        given = {"within": _UNDER_WAY, "known_after": known_after, "most": TOGETHER}
        with self._database.read() as connection:
            found = set(connection.scalars(WAITING_FOR_OLD_LIMITS, given))
            for queue, began in oldest_servers(connection, self._core.lease_seconds).items():
                of_queue = {"of_queue": queue, "began": began, "most": TOGETHER}
                found.update(connection.scalars(WAITING_FOR_OLD_SETTINGS, of_queue))
        asks = (self._if_free(run_id, partial(due_now, scopes=OF_SETTINGS)) for run_id in sorted(found))
        return sum(ask is not None for ask in asks)


def mark_budgets(connection: Connection, tenant: str, at: float) -> None:
    """Mark the tenant's budgets of the day and the month of that time, whose limits are changing."""
    rows = [{"of_scope": scope, "of_id": id} for scope, id in keys_of_tenant(tenant, at)]
    driver.run(connection, _MARK_ONE, rows)


@cache
def _mark_lifted(limits: ScopeLimits) -> sa.Update:
    lifted = [
        _lifted_of_tenants(scope, limits, tenants.c[f"{period}_max_cost"], tenants.c[f"{period}_max_tokens"])
        for scope, period in ((TENANT_DAY, "day"), (TENANT_MONTH, "month"))
    ]
    if not any(limits.session):
        lifted.append(budgets.c.scope == word(SESSION))
    free = sa.select(budgets.c.scope, budgets.c.scope_id).where(~_IS_MARKED, sa.or_(*lifted)).limit(TOGETHER)
    return _MARK.where(sa.tuple_(budgets.c.scope, budgets.c.scope_id).in_(free.with_for_update(skip_locked=True)))


def _lifted_of_tenants(
    scope: str, limits: ScopeLimits, own_cost: sa.Column[Any], own_tokens: sa.Column[Any]
) -> sa.ColumnElement[bool]:
    """The rows of a scope for whose tenant there is no limit: by its own, or where it has none, by the settings."""
    cost, tokens = (float(limit or 0) for limit in limits.of(scope))
    tenant = sa.func.substr(budgets.c.scope_id, 1, sa.func.length(budgets.c.scope_id) - _PERIODS[scope])
    # 0 if there is neither limit; a float is good enough for that.
    own = sa.func.coalesce(sa.cast(own_cost, sa.Double), cost) + sa.func.coalesce(
        sa.cast(own_tokens, sa.Double), tokens
    )
    in_force = sa.select(own).where(tenants.c.id == tenant).scalar_subquery()
    return sa.and_(budgets.c.scope == word(scope), sa.func.coalesce(in_force, cost + tokens) == 0)
