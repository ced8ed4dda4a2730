"""Misuse of the record's roles that a type checker must reject: what a handler of the gateway cannot name.

Nobody runs this. As in `misuse`, `mypy --strict` fails where a mistake is found no longer.
"""

from __future__ import annotations

from turnwise.record.roles.administrator import AdministratorRole
from turnwise.record.roles.tenant import TenantRole
from turnwise.record.store import Store
from turnwise.record.tenants.reach import EVERY_TENANT
from turnwise.record.transaction.core import Core
from turnwise_gateway.gateway import Administration, Gateway, OpenGateway, Operation, WholeGateway


def a_tenant_s_handler(gateway: Gateway) -> None:
    """Handlers that get their gateway by `Here`."""
    gateway.record.claim("llm", "wkr_1")  # type: ignore[attr-defined]
    gateway.record.locked("run_1")  # type: ignore[attr-defined]
    gateway.record.export("run_1")  # type: ignore[attr-defined]
    gateway.record.due_moves()  # type: ignore[attr-defined]
    gateway.record.purge_run("run_1")  # type: ignore[attr-defined]
    gateway.record.workers()  # type: ignore[attr-defined]
    gateway.record.api_keys()  # type: ignore[attr-defined]
    gateway.record.table("runs")  # type: ignore[attr-defined]
    gateway.record.database.begin()  # type: ignore[attr-defined]
    gateway.records.tenant("another")  # type: ignore[attr-defined]


def an_administrator_s_handler(gateway: Administration) -> None:
    """Handlers that get their gateway by `Administered`."""
    gateway.record.run("run_1")  # type: ignore[attr-defined]
    gateway.record.events("run_1")  # type: ignore[attr-defined]
    gateway.record.pause("queue", "llm")  # type: ignore[attr-defined]
    gateway.record.workers()  # type: ignore[attr-defined]
    gateway.record.find_key("0")  # type: ignore[attr-defined]


def an_operator_s_handler(gateway: Operation) -> None:
    """Handlers that get their gateway by `Operated`."""
    gateway.record.run("run_1")  # type: ignore[attr-defined]
    gateway.record.locked("run_1")  # type: ignore[attr-defined]


def a_handler_for_everybody(gateway: OpenGateway) -> None:
    """Handlers of probes and metrics."""
    gateway.record.run("run_1")  # type: ignore[attr-defined]


def the_gateway_itself(gateway: WholeGateway) -> None:
    """Give handlers their gateway."""
    gateway.records.worker.claim("llm", "wkr_1")  # type: ignore[attr-defined]
    gateway.records.coordinator.locked("run_1")  # type: ignore[attr-defined]
    gateway.records.inspector.table("runs")  # type: ignore[attr-defined]


def roles_without_their_reach(store: Store, core: Core) -> None:
    """Make roles."""
    store.tenant()  # type: ignore[call-arg]
    store.tenant(None)  # type: ignore[arg-type]
    store.administrator()  # type: ignore[call-arg]
    store.administrator(None)  # type: ignore[arg-type]
    TenantRole(core)  # type: ignore[call-arg]
    TenantRole(core, EVERY_TENANT)  # type: ignore[arg-type]
    AdministratorRole(core)  # type: ignore[call-arg]
    store.run("run_1")  # type: ignore[attr-defined]
