"""The limits of tenants, where they differ from the settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import sqlalchemy as sa

from turnwise.errors import NotFoundError
from turnwise.record.budgets.lifted_limits import TRUSTED_SECONDS, mark_budgets
from turnwise.record.database.access_schema import tenants
from turnwise.record.database.columns import now
from turnwise.record.database.rows import as_row
from turnwise.record.tenants.tenant import NO_OWN_LIMITS, TenantLimits
from turnwise.record.transaction.part import ChangingPart, RecordPart

_LIMIT_NAMES = tuple(field.name for field in fields(TenantLimits))
LIMITS = tuple(tenants.c[name] for name in _LIMIT_NAMES)
_OF_TENANT = sa.select(*LIMITS).where(tenants.c.id == sa.bindparam("tenant"))


@dataclass(frozen=True, kw_only=True, slots=True)
class TenantRecord:
    """A tenant with limits of its own, and when they were set."""

    id: str
    limits: TenantLimits
    updated_at: float


class KnownLimits(RecordPart):
    """The limits of any tenant, as this process remembers them."""

    def tenant_limits(self, tenant: str) -> TenantLimits:
        """The tenant's own limits, as they were at most 5 s ago."""
        limits = self.remembered_limits(tenant)
        if limits is None:
            at = self.clock.monotonic()
            with self._database.read() as connection:
                row = connection.execute(_OF_TENANT, {"tenant": tenant}).first()
            limits = NO_OWN_LIMITS if row is None else limits_of(row)
            if len(self._core.known_limits) >= _MOST_KNOWN:
                self._core.known_limits.clear()
            self._core.known_limits[tenant] = (at, limits)
        return limits

    def remembered_limits(self, tenant: str) -> TenantLimits | None:
        """Return what this process knows of them without asking the database; None if that is older than 5 s."""
        read_at, limits = self._core.known_limits.get(tenant, (-TRUSTED_SECONDS, NO_OWN_LIMITS))
        return limits if self.clock.monotonic() - read_at < TRUSTED_SECONDS else None


class TenantChanges(ChangingPart):
    """Sets limits."""

    def set_tenant_limits(self, tenant: str, limits: TenantLimits) -> TenantRecord:
        """Give a tenant limits of its own in place of those that it had; processes know within 5 s."""
        values = as_row(limits, updated_at=now())
        statement = self._database.insert(tenants).values({"id": tenant} | values)
        statement = statement.on_conflict_do_update(index_elements=["id"], set_=values)
        with self._database.begin() as connection:
            row = connection.execute(statement.returning(tenants.c.id, tenants.c.updated_at, *LIMITS)).one()
            mark_budgets(connection, tenant, row[1])
            self._audited(connection, tenant)
        self._core.known_limits.pop(tenant, None)
        return _tenant(row)


class Tenants(RecordPart):
    """Reads the limits of the tenants within reach, as they are now."""

    def tenants(self, after: str | None = None, limit: int = 100) -> list[TenantRecord]:
        """Tenants that have limits of their own, by name; those behind `after`."""
        statement = sa.select(tenants.c.id, tenants.c.updated_at, *LIMITS).order_by(tenants.c.id).limit(limit)
        statement = statement.where(*self._reach.where(tenants.c.id))
        if after is not None:
            statement = statement.where(tenants.c.id > after)
        with self._database.read() as connection:
            return [_tenant(row) for row in connection.execute(statement)]

    def find_tenant(self, name: str) -> TenantRecord | None:
        """The tenant, None if it has no limits of its own; raises `NotFoundError` for one that is out of reach."""
        if not self._reach.includes(name):
            raise NotFoundError(f"there is no tenant {name!r} that you administer")
        statement = sa.select(tenants.c.id, tenants.c.updated_at, *LIMITS).where(tenants.c.id == name)
        with self._database.read() as connection:
            row = connection.execute(statement).first()
        return None if row is None else _tenant(row)


# Tenants whose limits are remembered; more would be no leak, but a process is not to grow with its tenants.
_MOST_KNOWN = 10_000


def limits_of(row: Sequence[Any]) -> TenantLimits:
    """Limits from the values of `LIMITS`."""
    return TenantLimits(**dict(zip(_LIMIT_NAMES, row, strict=True)))


def _tenant(row: Sequence[Any]) -> TenantRecord:
    return TenantRecord(id=row[0], updated_at=row[1], limits=limits_of(row[2:]))
