"""How full the budgets are, for the gauges of an installation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import sqlalchemy as sa

from turnwise.runs.base import StoreBase
from turnwise.runs.budgets import SESSION, TENANT_DAY, TENANT_MONTH
from turnwise.runs.columns import now, word
from turnwise.runs.records import UNFINISHED
from turnwise.runs.schema import budgets, reservations, runs

_UNFINISHED = runs.c.status.in_([word(status) for status in UNFINISHED])
_HELD = sa.select(reservations.c.cost).where(reservations.c.settled_at.is_(None), reservations.c.cost.is_not(None))


def _least(limit: sa.Column[Any], gone: list[sa.Column[Any]]) -> sa.ColumnElement[float]:
    """The smallest share of a limit that is left. A gauge is a float, so floats are good enough here."""
    most = sa.cast(limit, sa.Double)
    return sa.func.min(
        sa.case((most > 0, 1 - sum((sa.cast(part, sa.Double) for part in gone), sa.literal(0.0)) / most))
    )


_OF_RUNS = sa.select(
    _least(runs.c.max_cost, [runs.c.cost, runs.c.reserved_cost]),
    _least(runs.c.max_tokens, [runs.c.prompt_tokens, runs.c.completion_tokens, runs.c.reserved_tokens]),
).where(_UNFINISHED)
_OF_SCOPE = sa.select(
    _least(budgets.c.limit_cost, [budgets.c.spent_cost, budgets.c.reserved_cost]),
    _least(budgets.c.limit_tokens, [budgets.c.spent_tokens, budgets.c.reserved_tokens]),
)
_OF_SESSIONS = _OF_SCOPE.where(
    budgets.c.scope == word(SESSION), budgets.c.scope_id.in_(sa.select(runs.c.session_key).where(_UNFINISHED))
)
_OF_TENANTS = _OF_SCOPE.where(
    budgets.c.scope == sa.bindparam("scope"), budgets.c.scope_id.like(sa.bindparam("period", type_=sa.Text))
)


@dataclass(frozen=True, kw_only=True, slots=True)
class BudgetLevels:
    """USD put aside for calls under way, and the smallest share that is left of a limit in each scope, at least 0.

    A scope without a limit that a call was made under is left out.
    """

    reserved: Decimal
    remaining: Mapping[str, float]


class Levels(StoreBase):
    """Reads all budgets that count at present."""

    def budget_levels(self) -> BudgetLevels:
        """Of unfinished runs, of the sessions that have one, and of the tenants' present day and month."""
        with self.database.read() as connection:
            today = datetime.fromtimestamp(connection.execute(sa.select(now())).scalar_one(), UTC)
            day = {"scope": TENANT_DAY, "period": f"%/{today:%Y-%m-%d}"}
            month = {"scope": TENANT_MONTH, "period": f"%/{today:%Y-%m}"}
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
