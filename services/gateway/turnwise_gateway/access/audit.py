"""The audit log of requests."""

from __future__ import annotations

from dataclasses import asdict

from turnwise.api.access import AuditView
from turnwise.api.pages import Page
from turnwise.base.times import when
from turnwise.record.tenants.audit import AuditRecord
from turnwise_gateway.access.scopes import ADMINISTERS
from turnwise_gateway.gateway import Administered
from turnwise_gateway.http.problem import problems
from turnwise_gateway.http.router import api_router
from turnwise_gateway.parameters import After, Limit

router = api_router("access", "/v1/audit")


@router.get("", dependencies=[ADMINISTERS], responses=problems(422, 503))
def list_audit(gateway: Administered, cursor: After = None, limit: Limit = 100) -> Page[AuditView]:
    """Changes, newest first; operators see those of all tenants, other administrators their own."""
    found = gateway.record.audit(cursor, limit + 1)
    return Page(
        items=[_view(row) for row in found[:limit]],
        next_cursor=found[limit - 1].id if len(found) > limit else None,
    )


def _view(row: AuditRecord) -> AuditView:
    return AuditView.model_validate(asdict(row) | {"at": when(row.at)})
