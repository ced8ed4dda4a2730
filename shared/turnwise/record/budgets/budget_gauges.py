"""The state of the budgets, for the gauges of an installation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from turnwise.record.budgets.budgets import SESSION, TENANT_DAY, TENANT_MONTH
from turnwise.record.database.budget_tables import budgets, reservations
from turnwise.record.database.columns import word
from turnwise.record.database.schema import runs
from turnwise.record.database.status_statements import status_in
from turnwise.record.states import UNFINISHED
from turnwise.record.transaction.part import RecordPart

_UNFINISHED = status_in(runs.c.status, UNFINISHED)
_HELD = sa.select(reservations.c.cost).where(reservations.c.settled_at.is_(None), reservations.c.cost.is_not(None))


def _left(limit: sa.Column[Any], gone: list[sa.Column[Any]]) -> sa.ColumnElement[float]:
    """The share of a limit that is left, NULL without one. A gauge is a float, so floats are good enough here."""
    most = sa.cast(limit, sa.Double)
    return sa.case((most > 0, 1 - sum((sa.cast(part, sa.Double) for part in gone), sa.literal(0.0)) / most))


def _least(limit: sa.Column[Any], gone: list[sa.Column[Any]]) -> sa.ColumnElement[float]:
    return sa.func.min(_left(limit, gone))


_OF_RUNS = sa.select(
    _least(runs.c.max_cost, [runs.c.cost, runs.c.reserved_cost]),
    _least(runs.c.max_tokens, [runs.c.prompt_tokens, runs.c.completion_tokens, runs.c.reserved_tokens]),
).where(_UNFINISHED)
_cost = (budgets.c.limit_cost, [budgets.c.spent_cost, budgets.c.reserved_cost])
_tokens = (budgets.c.limit_tokens, [budgets.c.spent_tokens, budgets.c.reserved_tokens])
_OF_SCOPE = sa.select(_least(*_cost), _least(*_tokens))
_OF_SESSIONS = _OF_SCOPE.where(
    budgets.c.scope == word(SESSION), budgets.c.scope_id.in_(sa.select(runs.c.session_key).where(_UNFINISHED))
)
_OF_TENANTS = _OF_SCOPE.where(
    budgets.c.scope == sa.bindparam("scope"), budgets.c.scope_id.like(sa.bindparam("period", type_=sa.Text))
)
_no_limit = sa.literal(2.0)  # more than all
_of_cost, _of_tokens = (sa.func.coalesce(_left(*budget), _no_limit) for budget in (_cost, _tokens))
_share = sa.case((_of_cost < _of_tokens, _of_cost), else_=_of_tokens)
_LEAST_LEFT = (
    sa.select(budgets.c.scope_id, _share.label("share"))
    .where(
        budgets.c.scope == sa.bindparam("scope"),
        budgets.c.scope_id.like(sa.bindparam("period", type_=sa.Text)),
        _share < _no_limit,
    )
    .order_by(_share, budgets.c.scope_id)
    .limit(sa.bindparam("most", type_=sa.Integer))
)


@dataclass(frozen=True, kw_only=True, slots=True)
class BudgetLevels:
    """USD reserved for calls under way, and the smallest share that is left of a limit in each scope, at least 0.

    A scope without a limit that a call was made under is left out.
    """

    reserved: Decimal
    remaining: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class TenantLevel:
    """The share, at least 0, that a tenant has left of its budget of the day or of the month."""

    tenant: str
    scope: str
    share: float


class Levels(RecordPart):
    """Reads all budgets that count at present."""

    def budget_levels(self) -> BudgetLevels:
        """Of unfinished runs, of the sessions that have one, and of the tenants' present day and month."""
        with self._database.read() as connection:
            day, month = self._periods(connection)
            found = {
                "run": connection.execute(_OF_RUNS).one(),
                SESSION: connection.execute(_OF_SESSIONS).one(),
                TENANT_DAY: connection.execute(_OF_TENANTS, day).one(),
                TENANT_MONTH: connection.execute(_OF_TENANTS, month).one(),
            }
            held = connection.execute(_HELD).scalars().all()
        shares = {scope: [share for share in row if share is not None] for scope, row in found.items()}
        return BudgetLevels(
            reserved=sum(held, Decimal(0)),
            remaining={scope: max(0.0, min(left)) for scope, left in shares.items() if left},
        )

    def tenant_levels(self, most: int) -> list[TenantLevel]:
        """Of the `most` tenants with the least left of a limit of the present day, and as many of the month's."""
        with self._database.read() as connection:
            return [
                TenantLevel(id.rpartition("/")[0], period["scope"], max(0.0, share))
                for period in self._periods(connection)
                for id, share in connection.execute(_LEAST_LEFT, {**period, "most": most})
            ]

    def _periods(self, connection: Connection) -> tuple[dict[str, str], dict[str, str]]:
        """Return what finds the tenants' budgets of the present day, and of the month (UTC)."""
        today = datetime.fromtimestamp(self._database.now(connection), UTC)
        return (
            {"scope": TENANT_DAY, "period": f"%/{today:%Y-%m-%d}"},
            {"scope": TENANT_MONTH, "period": f"%/{today:%Y-%m}"},
        )
