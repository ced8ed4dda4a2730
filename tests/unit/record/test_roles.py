"""The roles of the record: few methods each, and no part that hides another's."""

from __future__ import annotations

import inspect
from collections import defaultdict

import pytest

from turnwise.errors import InvalidRequestError
from turnwise.record.roles.administrator import AdministratorRole, OperatorRole
from turnwise.record.roles.archivist import ArchivistRole
from turnwise.record.roles.authentication import AuthenticationRole
from turnwise.record.roles.batches import BatchRole
from turnwise.record.roles.budgets import BudgetRole
from turnwise.record.roles.coordinator import CoordinatorRole
from turnwise.record.roles.inspector import InspectorRole
from turnwise.record.roles.monitor import MonitorRole
from turnwise.record.roles.process import ProcessRole
from turnwise.record.roles.provider_batches import ProviderBatchRole
from turnwise.record.roles.schedules import ScheduleRole
from turnwise.record.roles.tenant import TenantRole
from turnwise.record.roles.webhooks import WebhookRole
from turnwise.record.roles.worker import WorkerRole
from turnwise.record.tenants.reach import EVERY_TENANT, OneTenant

ROLES = [
    *(TenantRole, WorkerRole, CoordinatorRole, AdministratorRole, OperatorRole, AuthenticationRole),
    *(ProcessRole, MonitorRole, ArchivistRole, InspectorRole, BatchRole, ScheduleRole, ProviderBatchRole, WebhookRole),
    BudgetRole,
]
# A role with more than this is two roles.
MOST = 35


@pytest.mark.parametrize("role", ROLES, ids=lambda role: role.__name__)
def test_a_role_has_few_methods_and_each_from_one_part(role: type) -> None:
    defined: defaultdict[str, list[str]] = defaultdict(list)
    for part in role.__mro__:
        if part is not object:
            for name in vars(part):
                if not name.startswith("__"):
                    defined[name].append(part.__name__)

    assert {name: parts for name, parts in defined.items() if len(parts) > 1} == {}
    assert len([name for name, _ in inspect.getmembers(role, callable) if not name.startswith("_")]) <= MOST


@pytest.mark.parametrize("role", [TenantRole, AdministratorRole, OperatorRole, AuthenticationRole])
def test_no_role_of_requests_shows_the_database_or_the_lock_of_a_run(role: type) -> None:
    assert not {"database", "core", "locked", "lock_run"} & set(dir(role))


def test_a_tenant_s_reach_is_the_tenant_alone() -> None:
    assert OneTenant("acme").includes("acme")
    assert not OneTenant("acme").includes("acme-2")
    assert EVERY_TENANT.includes("acme")


@pytest.mark.parametrize("name", [None, "", " ", "a/b", "acme\n", "*"])
def test_what_can_be_no_tenant_is_no_reach(name: str) -> None:
    with pytest.raises(InvalidRequestError):
        OneTenant(name)
