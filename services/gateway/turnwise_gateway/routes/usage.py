"""The spending of a tenant."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Annotated

from fastapi import Query

from turnwise.api.access import SpendersView, SpenderView, UsageReport, UsageRowView
from turnwise.api.runs import UsageView
from turnwise.base.money import decimal_string
from turnwise.errors import InvalidRequestError
from turnwise.record.budgets.usage import SpenderKind, SpenderRow, UsageRow
from turnwise.record.tenants.tenant import TENANT_ID
from turnwise_gateway.access.scopes import READS, require_operator
from turnwise_gateway.gateway import Administered, Here, Who
from turnwise_gateway.http.problem import problems
from turnwise_gateway.http.router import api_router

router = api_router("access", "/v1/usage")

_MOST_DAYS = 366


@router.get("", dependencies=[READS], responses=problems(422, 503))
def show_usage(
    gateway: Here,
    administration: Administered,
    caller: Who,
    first: Annotated[date | None, Query(description="The first of this month, if left out.")] = None,
    last: Annotated[date | None, Query(description="Today, if left out.")] = None,
    tenant: Annotated[
        str | None, Query(pattern=TENANT_ID, description="For operators; the caller's own if left out.")
    ] = None,
) -> UsageReport:
    """Spend by day, task and model. It is counted as runs continue, and stays when they are deleted."""
    whose = tenant or caller.tenant
    administration.record.require_usage(whose)
    since, until = _days(first, last)
    if whose == caller.tenant:
        rows = gateway.record.usage(since, until)
    else:
        rows = administration.record.usage_of(whose, since, until)
    return UsageReport(tenant=whose, first=since, last=until, total=_sums(rows), items=[_view(row) for row in rows])


@router.get("/top", dependencies=[READS], responses=problems(403, 422, 503))
def show_spenders(
    gateway: Here,
    administration: Administered,
    caller: Who,
    by: SpenderKind = "task",
    first: Annotated[date | None, Query(description="The first of this month, if left out.")] = None,
    last: Annotated[date | None, Query(description="Today, if left out.")] = None,
    fleet: Annotated[bool, Query(description="Of all tenants together. For operators.")] = False,
    limit: Annotated[int, Query(ge=1, le=200)] = 10,
) -> SpendersView:
    """Return the tasks, models or tenants that cost the most, the dearest first."""
    since, until = _days(first, last)
    if fleet:
        require_operator(caller, gateway.settings)
    found = (administration.record if fleet else gateway.record).spenders(by, since, until, limit)
    return SpendersView(
        by=by,
        tenant=None if fleet else caller.tenant,
        first=since,
        last=until,
        items=[SpenderView(name=row.name, **_sums([row]).model_dump()) for row in found],
    )


def _days(first: date | None, last: date | None) -> tuple[date, date]:
    until = last or datetime.now(UTC).date()
    since = first or until.replace(day=1)
    if not 0 <= (until - since).days < _MOST_DAYS:
        raise InvalidRequestError(f"{since} to {until} is not a time of 1 to {_MOST_DAYS} days")
    return since, until


def _view(row: UsageRow) -> UsageRowView:
    return UsageRowView(day=date.fromisoformat(row.day), task=row.task, model=row.model, **_sums([row]).model_dump())


def _sums(rows: Sequence[UsageRow | SpenderRow]) -> UsageView:
    return UsageView(
        prompt_tokens=sum(row.prompt_tokens for row in rows),
        cached_tokens=sum(row.cached_tokens for row in rows),
        completion_tokens=sum(row.completion_tokens for row in rows),
        calls=sum(row.calls for row in rows),
        unpriced_calls=sum(row.unpriced_calls for row in rows),
        cost=decimal_string(sum((row.cost for row in rows), Decimal(0))),
    )
