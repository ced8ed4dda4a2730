"""Who asks, once that is known."""

from __future__ import annotations

from dataclasses import dataclass

from turnwise.record.tenants.scopes import SCOPES, Scope
from turnwise.record.tenants.tenant import DEFAULT_TENANT, NO_OWN_LIMITS, TenantLimits


@dataclass(frozen=True, kw_only=True, slots=True)
class Caller:
    """Somebody with a tenant and scopes; `name` is how logs call him, and no secret."""

    name: str
    tenant: str = DEFAULT_TENANT
    scopes: frozenset[Scope] = frozenset(SCOPES)
    limits: TenantLimits = NO_OWN_LIMITS


@dataclass(frozen=True, kw_only=True, slots=True)
class Deed:
    """What is done on whose behalf, for the audit log; `address` is the caller's, where one is known."""

    actor: str
    tenant: str
    action: str
    address: str | None = None
    request_id: str | None = None
