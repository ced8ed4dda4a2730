"""What every route of one API has at hand."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

from fastapi import Depends, Request
from prometheus_client import CollectorRegistry

from turnwise.access.caller import Caller, Deed
from turnwise.app import App
from turnwise.bus.base import Bus
from turnwise.runs.situation import Situation
from turnwise.runs.store import Store
from turnwise.service_settings import ServiceSettings
from turnwise_gateway.refused import deed_in
from turnwise_gateway.scopes import caller_of, is_operator
from turnwise_gateway.watch import Watch


@dataclass(frozen=True, kw_only=True)
class Gateway:
    """The parts that a gateway works with, chosen by whoever starts the process."""

    store: Store
    bus: Bus
    app: App
    settings: ServiceSettings
    registry: CollectorRegistry
    watch: Watch

    def situation(self, run_id: str) -> Situation:
        """The run, and what is needed to say why it waits; raises `NotFoundError`."""
        return self.store.situation(run_id, pinned=self.settings.pinned)


def _whole(request: Request) -> Gateway:
    found = request.app.state.gateway
    assert isinstance(found, Gateway)
    return found


def _of_caller(request: Request) -> Gateway:
    gateway, caller = _whole(request), caller_of(request)
    most = caller.limits.max_unfinished_runs
    store = gateway.store.of(
        caller.tenant,
        max_unfinished_runs=gateway.settings.tenant_max_unfinished_runs if most is None else most,
        deed=deed_of(request),
    )
    return replace(gateway, store=store)


def _of_administrator(request: Request) -> Gateway:
    gateway, caller = _whole(request), caller_of(request)
    reach = None if is_operator(caller, gateway.settings) else caller.tenant
    return replace(gateway, store=gateway.store.of(reach, deed=deed_of(request)))


def deed_of(request: Request) -> Deed | None:
    """What this request does, should it do it; None where nobody says who he is, so that there is nothing to tell."""
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
