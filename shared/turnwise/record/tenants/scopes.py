"""What a caller may do. A scope is exactly what it says: none of them includes another."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, get_args

from turnwise.errors import InvalidRequestError

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
