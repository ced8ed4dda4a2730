"""The limits of tenants, where they differ from the settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import sqlalchemy as sa

from turnwise.record.database.access_schema import tenants
from turnwise.record.database.columns import now
from turnwise.record.database.rows import as_row
from turnwise.record.runs.base import StoreBase
from turnwise.record.tenants.tenant import NO_OWN_LIMITS, TenantLimits

_LIMIT_NAMES = tuple(field.name for field in fields(TenantLimits))
LIMITS = tuple(tenants.c[name] for name in _LIMIT_NAMES)
# Seconds for which a process goes by what it has read of a tenant's limits.
TRUSTED_SECONDS = 5.0
_OF_TENANT = sa.select(*LIMITS).where(tenants.c.id == sa.bindparam("tenant"))


@dataclass(frozen=True, kw_only=True, slots=True)
class TenantRecord:
    """A tenant with limits of its own, and when they were set."""

    id: str
    limits: TenantLimits
    updated_at: float


class Tenants(StoreBase):
    """Sets and reads limits."""

    def tenant_limits(self, tenant: str) -> TenantLimits:
        """The tenant's own limits, as they were at most 5 s ago."""
        limits = self.remembered_limits(tenant)
        if limits is None:
            at = self.clock.monotonic()
            with self.database.read() as connection:
                row = connection.execute(_OF_TENANT, {"tenant": tenant}).first()
            limits = NO_OWN_LIMITS if row is None else limits_of(row)
            if len(self.known_limits) >= _MOST_KNOWN:
                self.known_limits.clear()
            self.known_limits[tenant] = (at, limits)
        return limits

    def remembered_limits(self, tenant: str) -> TenantLimits | None:
        """Return what this process knows of them without asking the database; None if that is older than 5 s."""
        read_at, limits = self.known_limits.get(tenant, (-TRUSTED_SECONDS, NO_OWN_LIMITS))
        return limits if self.clock.monotonic() - read_at < TRUSTED_SECONDS else None

    def set_tenant_limits(self, tenant: str, limits: TenantLimits) -> TenantRecord:
        """Give a tenant limits of its own in place of those that it had; processes know within 5 s."""
        values = as_row(limits, updated_at=now())
        statement = self.database.insert(tenants).values({"id": tenant} | values)
        statement = statement.on_conflict_do_update(index_elements=["id"], set_=values)
        with self.database.begin() as connection:
            row = connection.execute(statement.returning(tenants.c.id, tenants.c.updated_at, *LIMITS)).one()
            self.audited(connection, tenant)
        self.known_limits.pop(tenant, None)
        return _tenant(row)

    def tenants(self, after: str | None = None, limit: int = 100) -> list[TenantRecord]:
        """Tenants that have limits of their own, by name; those behind `after`."""
        statement = sa.select(tenants.c.id, tenants.c.updated_at, *LIMITS).order_by(tenants.c.id).limit(limit)
        if self.tenant is not None:
            statement = statement.where(tenants.c.id == self.tenant)
        if after is not None:
            statement = statement.where(tenants.c.id > after)
        with self.database.read() as connection:
            return [_tenant(row) for row in connection.execute(statement)]


# Tenants whose limits are remembered; more would be no leak, but a process is not to grow with its tenants.
_MOST_KNOWN = 10_000


def limits_of(row: Sequence[Any]) -> TenantLimits:
    """Limits from the values of `LIMITS`."""
    return TenantLimits(**dict(zip(_LIMIT_NAMES, row, strict=True)))


def _tenant(row: Sequence[Any]) -> TenantRecord:
    return TenantRecord(id=row[0], updated_at=row[1], limits=limits_of(row[2:]))
