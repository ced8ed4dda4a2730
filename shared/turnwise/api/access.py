"""API keys, tenants, what they spend, and who did what."""

from __future__ import annotations

from datetime import date, datetime
from typing import Annotated, Literal

from pydantic import Field

from turnwise.api.open_values import OpenValues
from turnwise.api.runs import UsageView
from turnwise.api.view import View

Scope = Literal["runs:read", "runs:write", "admin"]


class CallerView(View):
    """The caller as the server knows him."""

    name: str = Field(description="As the audit log calls him.", examples=["key:3f9a0c51b2de"])
    tenant: str
    scopes: list[Annotated[Scope, OpenValues()]]
    operator: bool = Field(description="Whether he administers all tenants.")
    expires_at: datetime | None = Field(description="When the key or token ends; null: it has no end.")
    authentication: Annotated[Literal["none", "token", "keys"], OpenValues()] = Field(
        description="How the server knows its callers; none: everyone on its machine may do everything."
    )
    by_cookie: bool = Field(description="Whether the request came with a browser's sign-in.")


class KeyView(View):
    """A key, without its secret. It works until it is revoked or expires."""

    id: str
    prefix: str = Field(description="What the key begins with.", examples=["tw_3f9a0c51b2de"])
    tenant: str
    name: str
    scopes: list[Annotated[Scope, OpenValues()]]
    created_at: datetime
    created_by: str
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None = Field(description="Up to an hour old.")
    replaced_by: str | None = Field(description="The id of the key that it was rotated to.")


class NewKeyView(KeyView):
    """A new key with its secret, which no one is told again."""

    secret: str = Field(description="For the header `Authorization: Bearer`.")


class TenantLimitsView(View):
    """Money is US dollars; null is no limit."""

    day_max_cost: str | None
    day_max_tokens: int | None
    month_max_cost: str | None
    month_max_tokens: int | None
    requests_per_minute: int | None
    max_unfinished_runs: int | None


class TenantView(View):
    """A tenant: its own limits, where null takes the installation's setting, and those that are in force."""

    id: str
    own_limits: TenantLimitsView
    limits: TenantLimitsView
    updated_at: datetime | None = Field(description="When it was given limits of its own; null if it never was.")


class TenantUseView(View):
    """Spending that counts for the limits of the present day and month (UTC)."""

    day_cost: str
    day_tokens: int
    month_cost: str
    month_tokens: int


class TenantWithUse(TenantView):
    """A tenant with what it has used of its limits."""

    used: TenantUseView


class UsageRowView(UsageView):
    """The use of one model for runs of one task in one day."""

    day: date
    task: str = Field(description="The root task of the runs.")
    model: str = Field(description="Empty where it is not known.")


class UsageReport(View):
    """The tenant's use between two days (UTC), both included; `cost` is in US dollars."""

    tenant: str
    first: date
    last: date
    total: UsageView
    items: list[UsageRowView]


class SpenderView(UsageView):
    """The use of one task, model or tenant; without a name where a model is not known."""

    name: str


class SpendersView(View):
    """The tasks, models or tenants that cost the most between two days (UTC), both included."""

    by: Annotated[Literal["task", "model", "tenant"], OpenValues()]
    tenant: str | None = Field(description="null: all tenants together.")
    first: date
    last: date
    items: list[SpenderView]


class AuditView(View):
    """Something that was done, or was refused with an HTTP `status`."""

    id: str
    at: datetime
    tenant: str = Field(description="The caller's.")
    actor: str = Field(
        description="A key's prefix, a token's subject, or who ran a command.", examples=["key:3f9a0c51b2de"]
    )
    action: str = Field(description="The operation, as the API's description calls it.", examples=["cancel_run"])
    resource: str | None = Field(description="The id of what it was done to; of what was refused, the path.")
    outcome: Annotated[Literal["done", "refused"], OpenValues()]
    status: int | None
    address: str | None
    request_id: str | None
