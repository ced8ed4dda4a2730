"""The use of models by tenants, by day, root task and model.

The sums are kept with those of the runs, in the same transactions, and stay when runs are deleted.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

import sqlalchemy as sa

from turnwise.errors import PermissionDeniedError
from turnwise.record.database.access_schema import usage_days
from turnwise.record.database.database import Database
from turnwise.record.runs.part import RecordPart, TenantPart

_PLACE = tuple(usage_days.c[name] for name in ("day", "task", "model"))
_SUMS = tuple(
    sa.func.sum(usage_days.c[name])
    for name in ("calls", "unpriced_calls", "prompt_tokens", "cached_tokens", "completion_tokens")
)
_WHERE = (
    usage_days.c.tenant == sa.bindparam("tenant"),
    usage_days.c.day >= sa.bindparam("first"),
    usage_days.c.day <= sa.bindparam("last"),
)
_COUNTS = sa.select(*_PLACE, *_SUMS).where(*_WHERE).group_by(*_PLACE).order_by(*_PLACE)
_COSTS = sa.select(*_PLACE, usage_days.c.cost).where(*_WHERE)


@dataclass(frozen=True, kw_only=True, slots=True)
class UsageRow:
    """The use of one model in one day (UTC) for runs of one task; `model` is empty if it is not known.

    `cost` is in US dollars and leaves out the `unpriced_calls`.
    """

    day: str
    task: str
    model: str
    calls: int
    unpriced_calls: int
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    cost: Decimal


class OwnUsage(TenantPart):
    """Reads the tenant's sums."""

    def usage(self, first: date, last: date) -> list[UsageRow]:
        """Return what the tenant has used from the first to the last of these days, in order."""
        return _usage(self._database, self._tenant, first, last)


class UsageOfTenants(RecordPart):
    """Reads the sums of tenants within reach."""

    def require_usage(self, tenant: str) -> None:
        """Raise `PermissionDeniedError` if the tenant's usage is out of reach."""
        if not self._reach.includes(tenant):
            raise PermissionDeniedError("only an operator sees the usage of another tenant")

    def usage_of(self, tenant: str, first: date, last: date) -> list[UsageRow]:
        """Return what a tenant has used, as `OwnUsage.usage`; raises `PermissionDeniedError` for one out of reach."""
        self.require_usage(tenant)
        return _usage(self._database, tenant, first, last)


def _usage(database: Database, tenant: str, first: date, last: date) -> list[UsageRow]:
    given = {"tenant": tenant, "first": first.isoformat(), "last": last.isoformat()}
    with database.read() as connection:
        counts = connection.execute(_COUNTS, given).all()
        # Summed here, because SQLite keeps money as text.
        costs: defaultdict[tuple[str, str, str], Decimal] = defaultdict(Decimal)
        for row in connection.execute(_COSTS, given):
            costs[row[0], row[1], row[2]] += row[3]
    return [
        UsageRow(
            day=row[0],
            task=row[1],
            model=row[2],
            calls=int(row[3]),
            unpriced_calls=int(row[4]),
            prompt_tokens=int(row[5]),
            cached_tokens=int(row[6]),
            completion_tokens=int(row[7]),
            cost=costs[row[0], row[1], row[2]],
        )
        for row in counts
    ]
