"""Names of tenants, and what one of them may use."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal

from turnwise.errors import InvalidRequestError

# Whose runs are those of an installation without keys.
DEFAULT_TENANT = "default"
# A part of paths and of the names of budgets, which divide by a slash.
TENANT_ID = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"
_ID = re.compile(TENANT_ID)


def is_tenant(name: str) -> bool:
    """Return whether a tenant can be called so."""
    return _ID.match(name) is not None and not name.endswith("\n")


def known_tenant(name: str) -> str:
    """The name; raises `InvalidRequestError` if no tenant can be called so."""
    if not is_tenant(name):
        raise InvalidRequestError(
            f"{name!r} is not a valid tenant; expected at most 64 letters, digits and ._- that begin with a "
            "letter or digit"
        )
    return name


@dataclass(frozen=True, kw_only=True, slots=True)
class TenantLimits:
    """The limits of a tenant; money is US dollars, None takes the installation's setting, 0 is no limit."""

    day_max_cost: Decimal | None = None
    day_max_tokens: int | None = None
    month_max_cost: Decimal | None = None
    month_max_tokens: int | None = None
    requests_per_minute: int | None = None
    max_unfinished_runs: int | None = None

    def most_unfinished_runs(self, setting: int | None) -> int | None:
        """Return the tenant's own limit of unfinished runs, else the installation's `setting`."""
        return setting if self.max_unfinished_runs is None else self.max_unfinished_runs


NO_OWN_LIMITS = TenantLimits()
