"""The limits of tenants."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated

from fastapi import APIRouter, Depends

from turnwise.api.access import TenantLimitsView, TenantView
from turnwise.api.pages import Page
from turnwise.errors import NotFoundError
from turnwise.processes.settings import ServiceSettings
from turnwise.record.tenants.tenant import TenantLimits, is_tenant
from turnwise.record.tenants.tenants import TenantRecord
from turnwise_gateway.access.scopes import ADMINISTERS, OPERATES
from turnwise_gateway.bodies import TenantChange
from turnwise_gateway.gateway import Administered, Operated
from turnwise_gateway.http.problem import problems
from turnwise_gateway.routes.keys import After, Limit
from turnwise_gateway.views import money, when

router = APIRouter(prefix="/v1/tenants", tags=["access"])


def known_form(tenant_id: str) -> str:
    """The tenant's name, if a tenant can be called so."""
    if not is_tenant(tenant_id):
        raise NotFoundError(f"there is no tenant {tenant_id!r}: its name is not valid")
    return tenant_id


Named = Annotated[str, Depends(known_form)]


@router.get("", dependencies=[ADMINISTERS], responses=problems(422, 503))
def list_tenants(gateway: Administered, cursor: After = None, limit: Limit = 100) -> Page[TenantView]:
    """Tenants that have limits of their own, by name; operators see all, other administrators theirs."""
    found = gateway.record.tenants(cursor, limit + 1)
    return Page(
        items=[_view(one, gateway.settings) for one in found[:limit]],
        next_cursor=found[limit - 1].id if len(found) > limit else None,
    )


@router.get("/{tenant_id}", dependencies=[ADMINISTERS], responses=problems(404, 503))
def show_tenant(tenant_id: Named, gateway: Administered) -> TenantView:
    """Return what the tenant may use. A tenant that has no limits of its own has those of the installation."""
    found = gateway.record.find_tenant(tenant_id)
    return _view(found, gateway.settings) if found is not None else _unset(tenant_id, gateway.settings)


@router.put("/{tenant_id}", dependencies=[ADMINISTERS, OPERATES], responses=problems(400, 404, 413, 415, 422, 503))
def set_tenant(tenant_id: Named, body: TenantChange, gateway: Operated) -> TenantView:
    """Give a tenant limits of its own, in place of those that it had; in force everywhere within 5 s."""
    limits = TenantLimits(**{name: getattr(body, name) for name in type(body).model_fields})
    return _view(gateway.record.set_tenant_limits(tenant_id, limits), gateway.settings)


def _view(tenant: TenantRecord, settings: ServiceSettings) -> TenantView:
    return TenantView(
        id=tenant.id,
        own_limits=_limits(tenant.limits),
        limits=_in_force(tenant.limits, settings),
        updated_at=when(tenant.updated_at),
    )


def _unset(name: str, settings: ServiceSettings) -> TenantView:
    none = TenantLimits()
    return TenantView(id=name, own_limits=_limits(none), limits=_in_force(none, settings), updated_at=None)


def _in_force(own: TenantLimits, settings: ServiceSettings) -> TenantLimitsView:
    found = {}
    for name in TenantLimitsView.model_fields:
        mine = getattr(own, name)
        found[name] = (getattr(settings, f"tenant_{name}") if mine is None else mine) or None
    return _limits(TenantLimits(**found))


def _limits(limits: TenantLimits) -> TenantLimitsView:
    found = {name: getattr(limits, name) for name in TenantLimitsView.model_fields}
    return TenantLimitsView.model_validate(
        {name: money(value) if isinstance(value, Decimal) else value for name, value in found.items()}
    )
