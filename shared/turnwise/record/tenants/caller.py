"""Callers of the gateway, and their scopes. A scope is exactly what it says: no scope includes another."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, get_args

from turnwise.errors import InvalidRequestError
from turnwise.record.tenants.tenant import DEFAULT_TENANT, NO_OWN_LIMITS, TenantLimits

Scope = Literal["runs:read", "runs:write", "admin"]

# See the tenant's runs, sessions, inbox, queues and usage, and the tasks that there are.
RUNS_READ: Scope = "runs:read"
# Submit, answer, cancel, fork, delete: whatever changes the tenant's runs and sessions.
RUNS_WRITE: Scope = "runs:write"
# The installation: keys, tenants and usage of all tenants, the audit log, the worker processes. No run.
ADMIN: Scope = "admin"

SCOPES: tuple[Scope, ...] = get_args(Scope)


def known_scopes(names: Iterable[str]) -> tuple[Scope, ...]:
    """The scopes of these names, each once and in a fixed order; raises `InvalidRequestError` for any other name."""
    given = set(names)
    unknown = given.difference(SCOPES)
    if unknown or not given:
        said = ", ".join(sorted(unknown)) or "none"
        raise InvalidRequestError(f"the scopes are {said}; expected some of {', '.join(SCOPES)}")
    return tuple(scope for scope in SCOPES if scope in given)


@dataclass(frozen=True, kw_only=True, slots=True)
class Caller:
    """Someone with a tenant and scopes; `name` is how logs call him, and no secret.

    `expires_at` is when his key or token ends, in seconds since the epoch; None: no one knows of an end.
    """

    name: str
    tenant: str = DEFAULT_TENANT
    scopes: frozenset[Scope] = frozenset(SCOPES)
    limits: TenantLimits = NO_OWN_LIMITS
    expires_at: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Deed:
    """An action and its caller, for the audit log; `address` is the caller's, where one is known."""

    actor: str
    tenant: str
    action: str
    address: str | None = None
    request_id: str | None = None
