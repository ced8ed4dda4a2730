"""The role of whoever lets callers in, before it is known which tenant they are."""

from __future__ import annotations

from turnwise.record.tenants.audit_log import Refusals
from turnwise.record.tenants.keys import KeyLookup
from turnwise.record.tenants.reach import EVERY_TENANT
from turnwise.record.tenants.tenants import KnownLimits
from turnwise.record.transaction.core import Core


class AuthenticationRole(KeyLookup, KnownLimits, Refusals):
    """Finds keys and the limits of their tenants, and notes what was refused."""

    def __init__(self, core: Core) -> None:
        super().__init__(core, EVERY_TENANT)
