"""The reach of a role of the record: the one tenant whose rows it sees, or every tenant. It is always given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import sqlalchemy as sa

from turnwise.record.tenants.tenant import known_tenant


@dataclass(frozen=True, slots=True)
class OneTenant:
    """One tenant; raises `InvalidRequestError` for what can be no tenant, so also for None and an empty name."""

    name: str

    def __post_init__(self) -> None:
        known_tenant(self.name or "")

    def includes(self, tenant: str) -> bool:
        """Return whether rows of `tenant` are within reach."""
        return tenant == self.name

    def where(self, tenant: sa.ColumnElement[str]) -> tuple[sa.ColumnElement[bool], ...]:
        """Return the conditions of a query whose rows have their tenant in that column."""
        return (tenant == self.name,)


@dataclass(frozen=True, slots=True)
class EveryTenant:
    """The whole installation."""

    def includes(self, tenant: str) -> bool:
        """Every tenant is within reach."""
        return True

    def where(self, tenant: sa.ColumnElement[Any]) -> tuple[sa.ColumnElement[bool], ...]:
        """Return no condition."""
        return ()


Reach: TypeAlias = OneTenant | EveryTenant
EVERY_TENANT = EveryTenant()
