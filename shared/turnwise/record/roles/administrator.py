"""The roles of administrators: of one tenant or of all, and of operators, who look after the installation."""

from __future__ import annotations

from turnwise.record.asks.fleet import Processes, Queues
from turnwise.record.asks.pauses import EndedPauses, PauseList, Pauses
from turnwise.record.budgets.provider_states import ProviderStates
from turnwise.record.budgets.usage import Spenders, UsageOfTenants
from turnwise.record.runs.outlines import RunOutlines
from turnwise.record.tenants.audit_log import AuditLog, SignIns
from turnwise.record.tenants.caller import Deed
from turnwise.record.tenants.keys import ApiKeys
from turnwise.record.tenants.reach import EVERY_TENANT
from turnwise.record.tenants.tenants import TenantChanges, Tenants
from turnwise.record.transaction.core import Core
from turnwise.record.transaction.idempotency import Once
from turnwise.record.upkeep.series import SeriesOfTenants


class AdministratorRole(
    ApiKeys,
    Tenants,
    AuditLog,
    SignIns,
    PauseList,
    UsageOfTenants,
    Spenders,
    SeriesOfTenants,
    ProviderStates,
    Queues,
    RunOutlines,
):
    """Keys, limits, the audit log, sign-ins, pauses, usage, series, lines and outlines of tenants within reach."""


class OperatorRole(AdministratorRole, TenantChanges, Pauses, EndedPauses, Processes):
    """An administrator of all tenants, who also sets their limits, pauses work and sees the processes."""

    def __init__(self, core: Core, *, deed: Deed | None = None, once: Once | None = None) -> None:
        super().__init__(core, EVERY_TENANT, deed=deed, once=once)
