"""The parts that every route of one API uses."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from typing import Annotated, Any, Protocol

from fastapi import Depends, Request
from fastapi.routing import APIRoute
from starlette.routing import BaseRoute

from turnwise.app import App
from turnwise.bus.base import Bus
from turnwise.processes.metrics import Metrics
from turnwise.processes.moves import pinned_version
from turnwise.processes.settings import ServiceSettings
from turnwise.record.roles.administrator import AdministratorRole, OperatorRole
from turnwise.record.roles.tenant import TenantRole
from turnwise.record.runs.wait_facts import Situation
from turnwise.record.tenants.caller import Caller, Deed
from turnwise.record.tenants.reach import EVERY_TENANT, OneTenant, Reach
from turnwise.record.transaction.idempotency import Once
from turnwise.serving.dispatcher import Dispatcher
from turnwise.serving.moves.first_moves import FirstMoves
from turnwise.serving.observer import Observers
from turnwise.serving.webhooks.addresses import AddressRules
from turnwise_gateway.access.open_requests import Admission
from turnwise_gateway.access.refusals import deed_in
from turnwise_gateway.access.scopes import caller_of, is_operator, require_operator
from turnwise_gateway.host_look_ups import HostLookUps
from turnwise_gateway.http.idempotency import METHODS, check_not_done, once_of
from turnwise_gateway.watching.watch import Watch


class Records(Protocol):
    """The roles of the record that requests get. The gateway makes no other."""

    def tenant(
        self, name: str, *, max_unfinished_runs: int | None = None, deed: Deed | None = None, once: Once | None = None
    ) -> TenantRole:
        """The record as a tenant has it."""
        ...

    def administrator(self, reach: Reach, *, deed: Deed | None = None, once: Once | None = None) -> AdministratorRole:
        """The record as an administrator of the tenants within `reach` has it."""
        ...

    def operator(self, *, deed: Deed | None = None, once: Once | None = None) -> OperatorRole:
        """The record as an operator has it."""
        ...

    def check_schema(self) -> None:
        """Raise `DatabaseUnavailableError` or `SchemaVersionError` unless the database can be worked with."""
        ...


@dataclass(frozen=True, kw_only=True)
class Equipment:
    """The parts that a gateway works with beside the record, chosen by whoever starts the process."""

    bus: Bus
    app: App
    settings: ServiceSettings
    metrics: Metrics
    observers: Observers
    first_moves: FirstMoves
    watch: Watch
    admission: Admission
    webhook_rules: AddressRules
    host_look_ups: HostLookUps

    @property
    def dispatcher(self) -> Dispatcher:
        """Tells other processes of runs."""
        return Dispatcher(self.bus, version=pinned_version(self.settings, self.app))


@dataclass(frozen=True, kw_only=True)
class WholeGateway(Equipment):
    """The gateway as a process has it. A route never gets it: it gets one of the classes below."""

    records: Records


@dataclass(frozen=True, kw_only=True)
class Gateway(Equipment):
    """The gateway for a request of a tenant."""

    record: TenantRole

    def situation(self, run_id: str) -> Situation:
        """The run, and what is needed to say why it waits; raises `NotFoundError`."""
        return self.record.situation(run_id, pinned=self.settings.pinned)


@dataclass(frozen=True, kw_only=True)
class Administration(Equipment):
    """The gateway for a request of an administrator: of one tenant, or an operator's of all."""

    record: AdministratorRole


@dataclass(frozen=True, kw_only=True)
class Operation(Equipment):
    """The gateway for a request of an operator."""

    record: OperatorRole


@dataclass(frozen=True, kw_only=True)
class OpenGateway:
    """The gateway for whoever asks: probes and scrapers."""

    metrics: Metrics
    check_schema: Callable[[], None]


def _whole(request: Request) -> WholeGateway:
    found = request.app.state.gateway
    assert isinstance(found, WholeGateway)
    return found


def _equipment(whole: WholeGateway) -> dict[str, Any]:
    return {field.name: getattr(whole, field.name) for field in fields(Equipment)}


def _for_anyone(request: Request) -> OpenGateway:
    whole = _whole(request)
    return OpenGateway(metrics=whole.metrics, check_schema=whole.records.check_schema)


async def _who(request: Request) -> Caller:
    # Not `caller_of` itself: FastAPI hands a plain function to a thread, which costs more than all that it does.
    return caller_of(request)


async def _of_caller(request: Request) -> Gateway:
    whole, caller = _whole(request), caller_of(request)
    once = await once_of(request, caller.tenant)
    record = whole.records.tenant(
        caller.tenant,
        max_unfinished_runs=caller.limits.most_unfinished_runs(whole.settings.tenant_max_unfinished_runs),
        deed=deed_of(request),
        once=once,
    )
    await _check_not_done(request, whole, record, once)
    return Gateway(record=record, **_equipment(whole))


async def _of_administrator(request: Request) -> Administration:
    whole, caller = _whole(request), caller_of(request)
    reach = EVERY_TENANT if is_operator(caller, whole.settings) else OneTenant(caller.tenant)
    once = await once_of(request, caller.tenant)
    record = whole.records.administrator(reach, deed=deed_of(request), once=once)
    await _check_not_done(request, whole, record, once)
    return Administration(record=record, **_equipment(whole))


async def _of_operator(request: Request) -> Operation:
    whole, caller = _whole(request), caller_of(request)
    require_operator(caller, whole.settings)
    once = await once_of(request, caller.tenant)
    record = whole.records.operator(deed=deed_of(request), once=once)
    await _check_not_done(request, whole, record, once)
    return Operation(record=record, **_equipment(whole))


async def _check_not_done(
    request: Request, whole: WholeGateway, record: TenantRole | AdministratorRole, once: Once | None
) -> None:
    if once is not None:
        await check_not_done(request, record, pinned=whole.settings.pinned)


def check_keys_taken(routes: Iterable[BaseRoute]) -> None:
    """See that no route was forgotten: a request with an idempotency key that changes something is done once."""
    for route in routes:
        if isinstance(route, APIRoute) and (route.methods or set()).intersection(METHODS):
            assert _takes_keys(route), f"{route.path} does not get its record by Here, Administered or Operated"


def _takes_keys(route: APIRoute) -> bool:
    """Return whether a request of the route with an idempotency key is done once."""
    waiting = [route.dependant]
    while waiting:
        one = waiting.pop()
        if one.call in (_of_caller, _of_administrator, _of_operator):
            return True
        waiting += one.dependencies
    return False


def deed_of(request: Request) -> Deed | None:
    """Return the action of this request, should it succeed; None for one without a caller."""
    if _whole(request).settings.auth == "none":
        return None
    return deed_in(request.scope, caller_of(request))


# With the record as the caller's tenant has it.
Here = Annotated[Gateway, Depends(_of_caller)]
# With that of an administrator, who has the reach that the caller has.
Administered = Annotated[Administration, Depends(_of_administrator)]
# With that of an operator; refused to everyone else.
Operated = Annotated[Operation, Depends(_of_operator)]
# Without the record, for routes that are open to all.
OpenToAll = Annotated[OpenGateway, Depends(_for_anyone)]
Who = Annotated[Caller, Depends(_who)]
