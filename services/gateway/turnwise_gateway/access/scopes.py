"""The scopes that each route requires: the routes declare them, and their description shows them.

| declared as | scope | for |
| --- | --- | --- |
| `KNOWN` | any, or none | who one is |
| `READS` | runs:read | what shows runs, sessions, the inbox, queues, usage, tasks |
| `WRITES` | runs:write | what changes runs and sessions |
| `READS_AND_WRITES` | runs:read and runs:write | what also shows runs: webhooks, OpenAI's interface |
| `ADMINISTERS` | admin | keys, tenants, the audit log |
| `OPERATES` | admin, of the operators' tenant | the same for all tenants, the worker processes, and pauses |
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fastapi import Request, Security
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer, SecurityScopes
from starlette.routing import BaseRoute

from turnwise.errors import PermissionDeniedError, UnauthorizedError
from turnwise.processes.settings import ServiceSettings
from turnwise.record.tenants.caller import ADMIN, RUNS_READ, RUNS_WRITE, Caller
from turnwise_gateway.access.authentication import CALLER, is_open

_BEARER = HTTPBearer(
    auto_error=False, scheme_name="bearer", description="The server's token, an API key, or a token of the OIDC issuer."
)


def caller_of(request: Request) -> Caller:
    """Return who asks; raises `UnauthorizedError` where no one has looked."""
    found = request.scope.get(CALLER)
    if not isinstance(found, Caller):
        raise UnauthorizedError("the request has no credentials")
    return found


def is_operator(caller: Caller, settings: ServiceSettings) -> bool:
    """Return whether the caller administers all tenants."""
    return ADMIN in caller.scopes and caller.tenant == settings.operator_tenant


async def _require(needed: SecurityScopes, request: Request, _token: object = Security(_BEARER)) -> None:
    missing = [scope for scope in needed.scopes if scope not in caller_of(request).scopes]
    if missing:
        raise PermissionDeniedError(f"this needs the scope {', '.join(missing)}, which the caller does not have")


async def _require_operator(request: Request) -> None:
    require_operator(caller_of(request), request.app.state.gateway.settings)


def require_operator(caller: Caller, settings: ServiceSettings) -> None:
    """Raise `PermissionDeniedError` unless the caller administers all tenants."""
    if not is_operator(caller, settings):
        raise PermissionDeniedError(
            f"this is for operators: administrators of the tenant {settings.operator_tenant!r}"
            " (TURNWISE_OPERATOR_TENANT)"
        )


READS: Any = Security(_require, scopes=[RUNS_READ])
WRITES: Any = Security(_require, scopes=[RUNS_WRITE])
READS_AND_WRITES: Any = Security(_require, scopes=[RUNS_READ, RUNS_WRITE])
ADMINISTERS: Any = Security(_require, scopes=[ADMIN])
# Whoever is known, with whatever scopes.
KNOWN: Any = Security(_require, scopes=[])
OPERATES: Any = Security(_require_operator)


def check_declared(routes: Iterable[BaseRoute]) -> None:
    """See that no route was forgotten: each is open to all or says what it needs."""
    for route in routes:
        if isinstance(route, APIRoute) and not is_open(route.path):
            scopes = [one for one in route.dependencies if one.dependency is _require]
            assert scopes, f"{route.path} does not say which scope it needs; give it READS, WRITES or ADMINISTERS"
