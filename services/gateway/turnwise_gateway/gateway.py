"""The parts that every route of one API uses."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Annotated

from fastapi import Depends, Request
from fastapi.routing import APIRoute
from starlette.routing import BaseRoute

from turnwise.app import App
from turnwise.bus.base import Bus
from turnwise.processes.metrics import Metrics
from turnwise.processes.settings import ServiceSettings
from turnwise.record.runs.wait_facts import Situation
from turnwise.record.store import Store
from turnwise.record.tenants.caller import Caller, Deed
from turnwise_gateway.access.open_requests import Admission
from turnwise_gateway.access.refusals import deed_in
from turnwise_gateway.access.scopes import caller_of, is_operator
from turnwise_gateway.http.idempotency import METHODS, check_not_done, once_of
from turnwise_gateway.watching.watch import Watch


@dataclass(frozen=True, kw_only=True)
class Gateway:
    """The parts that a gateway works with, chosen by whoever starts the process."""

    store: Store
    bus: Bus
    app: App
    settings: ServiceSettings
    metrics: Metrics
    watch: Watch
    admission: Admission

    def situation(self, run_id: str) -> Situation:
        """The run, and what is needed to say why it waits; raises `NotFoundError`."""
        return self.store.situation(run_id, pinned=self.settings.pinned)


def _whole(request: Request) -> Gateway:
    found = request.app.state.gateway
    assert isinstance(found, Gateway)
    return found


async def _of_caller(request: Request) -> Gateway:
    gateway, caller = _whole(request), caller_of(request)
    most = caller.limits.max_unfinished_runs
    store = gateway.store.of(
        caller.tenant,
        max_unfinished_runs=gateway.settings.tenant_max_unfinished_runs if most is None else most,
        deed=deed_of(request),
        once=await once_of(request, caller.tenant),
    )
    await _check_not_done(request, gateway, store)
    return replace(gateway, store=store)


async def _of_administrator(request: Request) -> Gateway:
    gateway, caller = _whole(request), caller_of(request)
    reach = None if is_operator(caller, gateway.settings) else caller.tenant
    store = gateway.store.of(reach, deed=deed_of(request), once=await once_of(request, caller.tenant))
    await _check_not_done(request, gateway, store)
    return replace(gateway, store=store)


async def _check_not_done(request: Request, gateway: Gateway, store: Store) -> None:
    if store.once is not None:
        await check_not_done(request, store, store.once, pinned=gateway.settings.pinned)


def check_keys_taken(routes: Iterable[BaseRoute]) -> None:
    """See that no route was forgotten: a request with an idempotency key that changes something is done once.

    `routes` are those of the routers: FastAPI keeps an included router as one route of the application's.
    """
    for route in routes:
        if isinstance(route, APIRoute) and (route.methods or set()).intersection(METHODS):
            assert _takes_keys(route), f"{route.path} does not get its record by Here or Administered"


def _takes_keys(route: APIRoute) -> bool:
    """Return whether a request of the route with an idempotency key is done once."""
    waiting = [route.dependant]
    while waiting:
        one = waiting.pop()
        if one.call in (_of_caller, _of_administrator):
            return True
        waiting += one.dependencies
    return False


def deed_of(request: Request) -> Deed | None:
    """Return the action of this request, should it succeed; None for one without a caller."""
    if _whole(request).settings.auth == "none":
        return None
    return deed_in(request.scope, caller_of(request))


# With the record as the caller's tenant has it: what is another's is not there.
Here = Annotated[Gateway, Depends(_of_caller)]
# The same, but that operators have that of all tenants.
Administered = Annotated[Gateway, Depends(_of_administrator)]
# With the whole record, for routes that are open to all.
Whole = Annotated[Gateway, Depends(_whole)]
Who = Annotated[Caller, Depends(caller_of)]
