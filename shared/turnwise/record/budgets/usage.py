"""The use of models by tenants, by day, root task and model.

A run's usage is kept in its row while it works. It is added to the sums when the run ends or waits; the sums stay when
runs are deleted.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Literal

import sqlalchemy as sa

from turnwise.errors import PermissionDeniedError
from turnwise.record.budgets.usage_tally import uncounted_rows
from turnwise.record.database.access_schema import usage_days
from turnwise.record.database.columns import Document, money_total, word
from turnwise.record.database.database import Database
from turnwise.record.database.schema import runs
from turnwise.record.states import RunStatus
from turnwise.record.transaction.part import RecordPart, TenantPart
from turnwise.record.values.records import Json

_NAMES = (
    *("day", "task", "model", "calls", "unpriced_calls", "prompt_tokens", "cached_tokens", "completion_tokens", "cost"),
)
_SUMS = _NAMES[3:]
_COUNTED = sa.select(*(usage_days.c[name] for name in _NAMES), sa.cast(sa.null(), Document)).where(
    usage_days.c.tenant == sa.bindparam("tenant"),
    usage_days.c.day >= sa.bindparam("first"),
    usage_days.c.day <= sa.bindparam("last"),
)
_UNCOUNTED = sa.select(
    *(runs.c.task if name == "task" else sa.cast(sa.null(), usage_days.c[name].type) for name in _NAMES),
    runs.c.uncounted,
).where(
    runs.c.tenant == sa.bindparam("tenant"),
    # A constant, and the partial index `ix_runs_unfinished_of` is used: only runs that work have something uncounted.
    runs.c.status == word(RunStatus.RUNNING),
    runs.c.uncounted.is_not(None),
)
# One statement: between two a run could come to rest, and be in neither or in both.
_USAGE = _COUNTED.union_all(_UNCOUNTED)
# The same by task, model or tenant, to be grouped by it.
_SPENT = {
    by: sa.select(
        usage_days.c[by],
        *(sa.func.sum(usage_days.c[name]) for name in _SUMS[:-1]),
        money_total(usage_days.c.cost),
        sa.cast(sa.null(), Document),
    ).where(usage_days.c.day >= sa.bindparam("first"), usage_days.c.day <= sa.bindparam("last"))
    for by in ("task", "model", "tenant")
}
_SPENDING = {
    by: sa.select(
        sa.cast(sa.null(), sa.Text) if by == "model" else runs.c[by],
        *(sa.cast(sa.null(), usage_days.c[name].type) for name in _SUMS),
        runs.c.uncounted,
    ).where(runs.c.status == word(RunStatus.RUNNING), runs.c.uncounted.is_not(None))
    for by in _SPENT
}


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


SpenderKind = Literal["task", "model", "tenant"]


@dataclass(frozen=True, kw_only=True, slots=True)
class SpenderRow:
    """The use of one task, model or tenant."""

    name: str
    calls: int
    unpriced_calls: int
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    cost: Decimal


class Spenders(RecordPart):
    """Reads who within reach has used the most."""

    def spenders(self, by: SpenderKind, first: date, last: date, most: int) -> list[SpenderRow]:
        """Return the `most` tasks, models or tenants that cost the most from the first to the last of these days."""
        given = {"first": first.isoformat(), "last": last.isoformat()}
        counted = _SPENT[by].where(*self._reach.where(usage_days.c.tenant)).group_by(usage_days.c[by])
        statement = counted.union_all(_SPENDING[by].where(*self._reach.where(runs.c.tenant)))
        sums: dict[str, Json] = {}
        with self._database.read() as connection:
            for name, *values, uncounted in connection.execute(statement, given):
                rows = [dict(zip(_SUMS, values, strict=True))] if uncounted is None else uncounted_rows(uncounted)
                for used in rows:
                    if uncounted is None or given["first"] <= used["day"] <= given["last"]:
                        key = used["model"] if by == "model" and uncounted is not None else name
                        known = sums.get(key) or dict.fromkeys(_SUMS, 0)
                        sums[key] = {each: known[each] + used[each] for each in _SUMS}
        found = [SpenderRow(name=name, **{**row, "cost": Decimal(row["cost"])}) for name, row in sums.items()]
        found.sort(key=lambda row: (-row.cost, -row.prompt_tokens - row.completion_tokens, row.name))
        return found[:most]


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
    sums: dict[tuple[str, str, str], Json] = {}
    with database.read() as connection:
        for *values, uncounted in connection.execute(_USAGE, given):
            row = dict(zip(_NAMES, values, strict=True))
            for used in [row] if uncounted is None else uncounted_rows(uncounted):
                if given["first"] <= used["day"] <= given["last"]:
                    _add(sums, row["task"], used)
    return [UsageRow(**sums[place]) for place in sorted(sums)]


def _add(sums: dict[tuple[str, str, str], Json], task: str, used: Json) -> None:
    """Add up here, because SQLite keeps money as text."""
    place = (used["day"], task, used["model"])
    known = sums.get(place)
    sums[place] = used | {"task": task} | ({name: known[name] + used[name] for name in _SUMS} if known else {})
