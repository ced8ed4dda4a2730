"""The budgets that a run is paid from: its own, its batch's, its session's and its tenant's of the day and the month.

A run's own is part of its row. The others are rows of their own, kept only where a limit is in force: made at their
first call, with what was spent under them before, and locked in a fixed order after the run's row. A batch's is made
with the batch, and its row has the limit itself.

While no limit is in force, nothing is added to a row, so a turn without a budget has nothing to write. Such a row is
marked: it has no limit (`lifted_limits`). The first call under a limit that is set again counts anew what was spent.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from turnwise.models.budget.budget import Amount, Budget
from turnwise.record.database import driver
from turnwise.record.database.budget_tables import budgets, purged_usage
from turnwise.record.database.columns import money_total
from turnwise.record.database.schema import runs
from turnwise.record.transaction.run_transaction import RunTransaction
from turnwise.record.values.records import RunRecord

BATCH, SESSION, TENANT_DAY, TENANT_MONTH = SCOPES = ("batch", "session", "tenant_day", "tenant_month")
# Which budget: its scope and its id.
Key = tuple[str, str]
# USD and tokens, None for no limit.
Limits = tuple[Decimal | None, int | None]

_NO_LIMITS: Limits = (None, None)
_ROW = (
    budgets.c.limit_cost,
    budgets.c.limit_tokens,
    budgets.c.spent_cost,
    budgets.c.spent_tokens,
    budgets.c.reserved_cost,
    budgets.c.reserved_tokens,
)
_HERE = sa.and_(budgets.c.scope == sa.bindparam("of_scope"), budgets.c.scope_id == sa.bindparam("of_id"))
_LOCK = sa.select(*_ROW).where(_HERE).with_for_update()
_SAVE = sa.update(budgets).where(_HERE).values({c.name: sa.bindparam(f"new_{c.name}", type_=c.type) for c in _ROW})
_SPENT, _SPENT_BY_DELETED = (
    sa.select(money_total(table.c.cost), sa.func.sum(table.c.prompt_tokens + table.c.completion_tokens))
    for table in (runs, purged_usage)
)
_SPENT = _SPENT.where(runs.c.tenant == sa.bindparam("of_tenant"), runs.c.id != sa.bindparam("not_run"))
# In one statement with the runs, so that a run which is being deleted counts once.
_PURGED = _SPENT_BY_DELETED.where(
    purged_usage.c.scope == sa.bindparam("of_scope"), purged_usage.c.scope_id == sa.bindparam("of_id")
)
_SPENT_BY_SESSION = _SPENT.where(
    runs.c.session_id == sa.bindparam("of_session"), runs.c.session_key == sa.bindparam("of_id")
).union_all(_PURGED)
_SPENT_SINCE = _SPENT.where(runs.c.created_at >= sa.bindparam("since", type_=sa.Double)).union_all(_PURGED)


@dataclass(frozen=True, kw_only=True, slots=True)
class ScopeLimits:
    """The limits that all runs of a session, and of a tenant in a day or a month (UTC), share."""

    session: Limits = _NO_LIMITS
    tenant_day: Limits = _NO_LIMITS
    tenant_month: Limits = _NO_LIMITS

    def of(self, scope: str) -> Limits:
        """The limits of one scope, other than a batch."""
        limits: Limits = getattr(self, scope)
        return limits

    def bind(self, run: RunRecord) -> bool:
        """Return whether a limit is in force for the run, its own included; looks at nothing but values."""
        if run.max_cost or run.max_tokens or run.batch_budget:
            return True
        of_session = run.session_key is not None and any(self.session)
        return of_session or any(self.tenant_day) or any(self.tenant_month)

    def keys(self, run: RunRecord, now: float) -> list[Key]:
        """The budgets beside the run's own that its calls are paid from at that time."""
        ids = scope_ids(run, now)
        shared = [(scope, id) for scope, id in ids.items() if id is not None and any(self.of(scope))]
        return [(BATCH, run.batch_id), *shared] if run.batch_budget and run.batch_id is not None else shared


NO_SCOPE_LIMITS = ScopeLimits()


def scope_ids(run: RunRecord, at: float) -> dict[str, str | None]:
    """The id of the run's budget in each scope but that of batches; of days and months the one of that time."""
    return {SESSION: run.session_key, **dict(keys_of_tenant(run.tenant, at))}


def keys_of_tenant(tenant: str, at: float) -> list[Key]:
    """The tenant's budgets of the day and the month of that time, in the order of locks."""
    day = datetime.fromtimestamp(at, UTC)
    return [(TENANT_DAY, f"{tenant}/{day:%Y-%m-%d}"), (TENANT_MONTH, f"{tenant}/{day:%Y-%m}")]


def period_end(key: Key) -> float | None:
    """Return when a budget of that day or month is over, in seconds since the epoch; None for one that never is."""
    scope, id = key
    if scope == TENANT_DAY:
        return (_begin(id) + timedelta(days=1)).timestamp()
    if scope == TENANT_MONTH:
        return (_begin(id).replace(day=1) + timedelta(days=32)).replace(day=1).timestamp()
    return None


def _begin(id: str) -> datetime:
    """The first moment of the period that the id ends with, `2026-11-21` or `2026-11`."""
    text = id.rpartition("/")[2]
    return datetime.strptime(text, "%Y-%m-%d" if text.count("-") == 2 else "%Y-%m").replace(tzinfo=UTC)


class Books:
    """The budgets of one transaction: those of `keys`, locked, and the run's own. `save` writes what changed.

    Open it once in a transaction, with all keys that it may need: that is what keeps the order of locks.
    """

    def __init__(self, transaction: RunTransaction, keys: list[Key], limits: ScopeLimits = NO_SCOPE_LIMITS) -> None:
        self._transaction = transaction
        self._before: dict[Key, Budget] = {}
        self._made: set[Key] = set()
        for key in sorted(set(keys), key=lambda key: (SCOPES.index(key[0]), key[1])):
            self._before[key] = self._locked(key)
        self._now = {key: self._limited(budget, limits) for key, budget in self._before.items()}

    def paying(self, keys: list[Key]) -> list[Budget]:
        """The budgets that a call is paid from, the run's own first."""
        return [own_budget(self._transaction.run), *(self._now[key] for key in keys)]

    def reserve(self, keys: list[Key], amount: Amount) -> None:
        """Put an amount aside in each, and in the run's own."""
        self._transaction.reserve(amount.cost or Decimal(0), amount.tokens)
        for key in keys:
            self._now[key] = self._now[key].reserve(amount)

    def settle(self, keys: list[Key], held: Amount, used: Amount) -> None:
        """Release what was reserved and count what was used; of the run's own the latter is for the caller."""
        self._transaction.reserve(-(held.cost or Decimal(0)), -held.tokens)
        for key in keys:
            self._now[key] = self._now[key].settle(held, used)

    def correct(self, keys: list[Key], counted: Amount, used: Amount) -> None:
        """Count what was used in place of what was counted."""
        for key in keys:
            self._now[key] = self._now[key].correct(counted, used)

    def save(self) -> None:
        """Write the budgets that changed."""
        changed = [budget for key, budget in self._now.items() if budget != self._before[key]]
        save_budgets(self._transaction.connection, changed)

    def _locked(self, key: Key) -> Budget:
        budget = locked_budget(self._transaction.connection, key)
        if budget is None:
            self._make(key)
            self._made.add(key)
            budget = locked_budget(self._transaction.connection, key)
        assert budget is not None, "this transaction has made it, or waited for the one that did"
        return budget

    def _limited(self, budget: Budget, limits: ScopeLimits) -> Budget:
        # A settlement does not bring them; those of a batch are in the row.
        if limits is NO_SCOPE_LIMITS or budget.scope == BATCH:
            return budget
        cost, tokens = limits.of(budget.scope)
        key = (budget.scope, budget.scope_id)
        if (cost or tokens) and not budget.limited and key not in self._made:  # it was lifted meanwhile
            budget = at_least(budget, *self._spent_before(key))
        return replace(budget, max_cost=cost, max_tokens=tokens)

    def _make(self, key: Key) -> None:
        """Begin a budget with what was spent under it already."""
        cost, tokens = self._spent_before(key)
        row = {"scope": key[0], "scope_id": key[1], "spent_cost": cost, "spent_tokens": tokens}
        statement = self._transaction.insert(budgets).values(row).on_conflict_do_nothing()
        self._transaction.connection.execute(statement)

    def _spent_before(self, key: Key) -> tuple[Decimal, int]:
        """Return what the runs of the session, or those accepted in the period, have used already."""
        transaction, run = self._transaction, self._transaction.run
        if key[0] == BATCH:  # it was deleted with its batch, while a call of a run was under way
            return Decimal(0), 0
        if key[0] == SESSION:
            given = _given(key, run.tenant, run.id) | {"of_session": run.session_id}
            cost, tokens = _sum(driver.fetch(transaction.connection, _SPENT_BY_SESSION, given))
        else:
            cost, tokens = spent_by_tenant(transaction.connection, key, run.tenant, not_run=run.id)
            if run.created_at < _begin(key[1]).timestamp():
                return cost, tokens
        return cost + run.cost, tokens + run.prompt_tokens + run.completion_tokens


def locked_budget(connection: Connection, key: Key) -> Budget | None:
    """The budget of the row, which stays locked until the transaction ends; None if there is none."""
    rows = driver.fetch(connection, _LOCK, {"of_scope": key[0], "of_id": key[1]})
    if not rows:
        return None
    cost, tokens, *gone = rows[0]
    names = ("spent_cost", "spent_tokens", "reserved_cost", "reserved_tokens")
    return Budget(
        scope=key[0], scope_id=key[1], max_cost=cost, max_tokens=tokens, **dict(zip(names, gone, strict=True))
    )


def save_budgets(connection: Connection, changed: Iterable[Budget]) -> None:
    """Write budgets whose rows are locked."""
    driver.run(connection, _SAVE, [_values(budget) for budget in changed])


def spent_by_tenant(connection: Connection, key: Key, tenant: str, *, not_run: str = "") -> tuple[Decimal, int]:
    """Return USD and tokens that the tenant's runs accepted in that day or month have used, but for `not_run`."""
    since = _begin(key[1]).timestamp()
    return _sum(driver.fetch(connection, _SPENT_SINCE, _given(key, tenant, not_run) | {"since": since}))


def at_least(budget: Budget, cost: Decimal, tokens: int) -> Budget:
    """Return the budget with so much spent; more, if its row knows of more, such as calls of runs accepted before."""
    return replace(budget, spent_cost=max(budget.spent_cost, cost), spent_tokens=max(budget.spent_tokens, tokens))


def own_budget(run: RunRecord) -> Budget:
    """The budget of the run's whole tree."""
    return Budget(
        scope="run",
        scope_id=run.id,
        max_cost=run.max_cost,
        max_tokens=run.max_tokens,
        spent_cost=run.cost,
        spent_tokens=run.prompt_tokens + run.completion_tokens,
        reserved_cost=run.reserved_cost,
        reserved_tokens=run.reserved_tokens,
    )


def _given(key: Key, tenant: str, not_run: str) -> dict[str, object]:
    return {"of_tenant": tenant, "not_run": not_run, "of_scope": key[0], "of_id": key[1]}


def _sum(found: Sequence[tuple[Decimal | None, int | None]]) -> tuple[Decimal, int]:
    """The sum of sums, which are None where there is nothing to add up."""
    return sum((row[0] or Decimal(0) for row in found), Decimal(0)), sum(int(row[1] or 0) for row in found)


def _values(budget: Budget) -> dict[str, object]:
    return {
        "of_scope": budget.scope,
        "of_id": budget.scope_id,
        "new_limit_cost": budget.max_cost,
        "new_limit_tokens": budget.max_tokens,
        "new_spent_cost": budget.spent_cost,
        "new_spent_tokens": budget.spent_tokens,
        "new_reserved_cost": budget.reserved_cost,
        "new_reserved_tokens": budget.reserved_tokens,
    }
