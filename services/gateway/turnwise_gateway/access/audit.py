"""Who did what."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import Literal

from fastapi import APIRouter
from pydantic import BaseModel, Field

from turnwise.record.tenants.audit import AuditRecord
from turnwise_gateway.access.scopes import ADMINISTERS
from turnwise_gateway.gateway import Administered
from turnwise_gateway.http.problem import problems
from turnwise_gateway.routes.keys import After, Limit
from turnwise_gateway.views import Page, when

router = APIRouter(prefix="/v1/audit", tags=["access"])


class AuditView(BaseModel):
    """Something that was done, or was refused with an HTTP `status`."""

    id: str
    at: datetime
    tenant: str = Field(description="The caller's.")
    actor: str = Field(
        description="A key's prefix, a token's subject, or who ran a command.", examples=["key:3f9a0c51b2de"]
    )
    action: str = Field(description="The operation, as the API's description calls it.", examples=["cancel_run"])
    resource: str | None = Field(description="The id of what it was done to; of what was refused, the path.")
    outcome: Literal["done", "refused"]
    status: int | None
    address: str | None
    request_id: str | None


@router.get("", dependencies=[ADMINISTERS], responses=problems(422, 503))
def list_audit(gateway: Administered, cursor: After = None, limit: Limit = 100) -> Page[AuditView]:
    """Changes, newest first; operators see those of all tenants, other administrators their own."""
    found = gateway.store.audit(cursor, limit + 1)
    return Page(
        items=[_view(row) for row in found[:limit]],
        next_cursor=found[limit - 1].id if len(found) > limit else None,
    )


def _view(row: AuditRecord) -> AuditView:
    return AuditView.model_validate(asdict(row) | {"at": when(row.at)})
