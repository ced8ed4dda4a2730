"""The limits of tenants."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Annotated

from fastapi import Depends

from turnwise.api.access import TenantLimitsView, TenantUseView, TenantView, TenantWithUse
from turnwise.api.administration import TenantChange
from turnwise.api.pages import Page
from turnwise.api.runs import RunOutlineView, Status
from turnwise.base.money import decimal_string
from turnwise.base.times import when
from turnwise.errors import NotFoundError
from turnwise.processes.settings import ServiceSettings
from turnwise.record.budgets.usage import UsageRow
from turnwise.record.runs.outlines import OutlineFilter
from turnwise.record.tenants.tenant import TenantLimits, is_tenant
from turnwise.record.tenants.tenants import TenantRecord
from turnwise_gateway.access.scopes import ADMINISTERS, OPERATES
from turnwise_gateway.gateway import Administered, Operated
from turnwise_gateway.http.problem import problems
from turnwise_gateway.http.router import api_router
from turnwise_gateway.parameters import After, Filter, Limit, seconds_of
from turnwise_gateway.views import outline_view

router = api_router("access", "/v1/tenants")


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
def show_tenant(tenant_id: Named, gateway: Administered) -> TenantWithUse:
    """Return what the tenant may use, and has used. One that has no limits of its own has the installation's."""
    found = gateway.record.find_tenant(tenant_id)
    view = _view(found, gateway.settings) if found is not None else _unset(tenant_id, gateway.settings)
    today = datetime.now(UTC).date()
    month = gateway.record.usage_of(tenant_id, today.replace(day=1), today)
    day_cost, day_tokens = _sum([row for row in month if row.day == today.isoformat()])
    month_cost, month_tokens = _sum(month)
    used = TenantUseView(day_cost=day_cost, day_tokens=day_tokens, month_cost=month_cost, month_tokens=month_tokens)
    return TenantWithUse(**view.model_dump(), used=used)


@router.get("/{tenant_id}/runs", dependencies=[ADMINISTERS], responses=problems(404, 422, 503))
def list_outlines(
    tenant_id: Named,
    gateway: Administered,
    status: Status | None = None,
    task: Filter = None,
    created_after: datetime | None = None,
    created_before: datetime | None = None,
    cursor: After = None,
    limit: Limit = 50,
) -> Page[RunOutlineView]:
    """Runs of the tenant, newest first: how they stand and what they cost, and nothing that anyone wrote."""
    filters = OutlineFilter(
        status=status,
        task=task,
        created_after=seconds_of(created_after, "created_after"),
        created_before=seconds_of(created_before, "created_before"),
    )
    found = gateway.record.outlines(tenant_id, filters, cursor, limit + 1)
    return Page(
        items=[outline_view(one) for one in found[:limit]],
        next_cursor=found[limit - 1].id if len(found) > limit else None,
    )


@router.put("/{tenant_id}", dependencies=[ADMINISTERS, OPERATES], responses=problems(400, 404, 413, 415, 422, 503))
def set_tenant(tenant_id: Named, body: TenantChange, gateway: Operated) -> TenantView:
    """Give a tenant limits of its own, in place of those that it had; in force everywhere within 5 s."""
    return _view(gateway.record.set_tenant_limits(tenant_id, TenantLimits(**dict(body))), gateway.settings)


def _view(tenant: TenantRecord, settings: ServiceSettings) -> TenantView:
    return TenantView(
        id=tenant.id,
        own_limits=_limits(tenant.limits),
        limits=_in_force(tenant.limits, settings),
        updated_at=when(tenant.updated_at),
    )


def _sum(rows: Sequence[UsageRow]) -> tuple[str, int]:
    """Cost and tokens of these rows, as limits count them."""
    cost = sum((row.cost for row in rows), Decimal(0))
    return decimal_string(cost), sum(row.prompt_tokens + row.completion_tokens for row in rows)


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
        {name: decimal_string(value) if isinstance(value, Decimal) else value for name, value in found.items()}
    )
