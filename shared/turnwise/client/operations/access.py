"""Keys, tenants, spend and the audit log. See the page about tenants and access for who may do what."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Literal

from turnwise.api.access import (
    AuditView,
    CallerView,
    KeyView,
    NewKeyView,
    SpendersView,
    TenantView,
    TenantWithUse,
    UsageReport,
)
from turnwise.api.pages import Page
from turnwise.api.runs import RunOutlineView
from turnwise.base.json_value import given
from turnwise.client.request import Amount, Request, model, moment, money, path_of


def caller() -> Request[CallerView]:
    """Return whom the server takes you for: tenant, scopes, and when the key or token ends."""
    return Request(method="GET", path=path_of("sign-in"), read=model(CallerView))


def create_key(
    name: str,
    scopes: Sequence[str],
    *,
    tenant: str | None = None,
    expires_in: float | None = None,
    idempotency_key: str | None = None,
) -> Request[NewKeyView]:
    """Make an API key; only this answer has its `secret`. `expires_in` is in seconds, None: it does not expire.

    `scopes` are some of "runs:read", "runs:write" and "admin". Only operators name a `tenant` that is not theirs.
    """
    return Request(
        method="POST",
        path=path_of("keys"),
        read=model(NewKeyView),
        body=given(name=name, scopes=list(scopes), tenant=tenant, expires_in=expires_in),
        idempotency_key=idempotency_key,
    )


def keys(*, cursor: str | None = None, limit: int = 100) -> Request[Page[KeyView]]:
    """Return a page of keys, newest first: `items`, and the `next_cursor` that gets the next one."""
    params = given(cursor=cursor, limit=limit)
    return Request(method="GET", path=path_of("keys"), read=model(Page[KeyView]), params=params)


def rotate_key(key_id: str, *, overlap: float = 86_400.0, idempotency_key: str | None = None) -> Request[NewKeyView]:
    """Make a key in place of another, which works for `overlap` seconds more. Returns it with its `secret`."""
    return Request(
        method="POST",
        path=path_of("keys", key_id, "rotate"),
        read=model(NewKeyView),
        body={"overlap": overlap},
        idempotency_key=idempotency_key,
    )


def revoke_key(key_id: str) -> Request[KeyView]:
    """Take a key back for good; it is refused everywhere within 5 s."""
    return Request(method="DELETE", path=path_of("keys", key_id), read=model(KeyView))


def tenants(*, cursor: str | None = None, limit: int = 100) -> Request[Page[TenantView]]:
    """Return a page of the tenants that have limits of their own, by name."""
    params = given(cursor=cursor, limit=limit)
    return Request(method="GET", path=path_of("tenants"), read=model(Page[TenantView]), params=params)


def tenant(tenant_id: str) -> Request[TenantWithUse]:
    """Return what a tenant may use: `own_limits`, the `limits` that are in force, and what it has `used` of them."""
    return Request(method="GET", path=path_of("tenants", tenant_id), read=model(TenantWithUse))


def set_tenant(
    tenant_id: str,
    *,
    day_max_cost: Amount | None = None,
    day_max_tokens: int | None = None,
    month_max_cost: Amount | None = None,
    month_max_tokens: int | None = None,
    requests_per_minute: int | None = None,
    max_unfinished_runs: int | None = None,
) -> Request[TenantView]:
    """Give a tenant limits of its own; None takes the installation's setting, 0 is no limit. For operators."""
    body = given(
        day_max_cost=money(day_max_cost),
        day_max_tokens=day_max_tokens,
        month_max_cost=money(month_max_cost),
        month_max_tokens=month_max_tokens,
        requests_per_minute=requests_per_minute,
        max_unfinished_runs=max_unfinished_runs,
    )
    return Request(method="PUT", path=path_of("tenants", tenant_id), read=model(TenantView), body=body)


def outlines(
    tenant_id: str,
    *,
    status: str | None = None,
    task: str | None = None,
    created_after: datetime | str | None = None,
    created_before: datetime | str | None = None,
    cursor: str | None = None,
    limit: int = 50,
) -> Request[Page[RunOutlineView]]:
    """Return a page of a tenant's runs, newest first, without anything that anyone wrote. For administrators."""
    params = given(
        status=status,
        task=task,
        created_after=moment(created_after),
        created_before=moment(created_before),
        cursor=cursor,
        limit=limit,
    )
    path = path_of("tenants", tenant_id, "runs")
    return Request(method="GET", path=path, read=model(Page[RunOutlineView]), params=params)


def usage(first: str | None = None, last: str | None = None, *, tenant: str | None = None) -> Request[UsageReport]:
    """Return the spend between two days (2026-11-22, UTC) by day, task and model; by default of this month."""
    params = given(first=first, last=last, tenant=tenant)
    return Request(method="GET", path=path_of("usage"), read=model(UsageReport), params=params)


def spenders(
    by: Literal["task", "model", "tenant"] = "task",
    *,
    first: str | None = None,
    last: str | None = None,
    fleet: bool = False,
    limit: int = 10,
) -> Request[SpendersView]:
    """Return the tasks, models or tenants that cost the most between two days, the dearest first.

    Of the caller's tenant; operators may ask for the whole `fleet`. By default of this month.
    """
    params = given(by=by, first=first, last=last, fleet="true" if fleet else None, limit=limit)
    return Request(method="GET", path=path_of("usage", "top"), read=model(SpendersView), params=params)


def audit(*, cursor: str | None = None, limit: int = 100) -> Request[Page[AuditView]]:
    """Return a page of the audit log, newest first."""
    params = given(cursor=cursor, limit=limit)
    return Request(method="GET", path=path_of("audit"), read=model(Page[AuditView]), params=params)
