"""Webhooks: a tenant's receivers of events, and what was sent to them."""

from __future__ import annotations

from typing import Annotated

from fastapi import Body, Query
from starlette.concurrency import run_in_threadpool

from turnwise.api.pages import Page
from turnwise.api.webhooks import DeliveryStatus, DeliveryView, NewWebhookView, ReplayView, WebhookView
from turnwise.record.values.list_place import ListPlace
from turnwise.record.webhooks.deliveries import place_of
from turnwise.record.webhooks.events import known_types
from turnwise.record.webhooks.records import DeliveryRecord
from turnwise.record.webhooks.secrets import known_secret, new_secret
from turnwise_gateway.access.scopes import READS, READS_AND_WRITES, WRITES
from turnwise_gateway.bodies import WebhookChange, WebhookRequest, WebhookRotation
from turnwise_gateway.gateway import Here, Who
from turnwise_gateway.http.problem import problems
from turnwise_gateway.http.router import api_router
from turnwise_gateway.parameters import ExistingRun, Limit
from turnwise_gateway.webhook_views import delivery_view, webhook_view, webhook_with_secret
from turnwise_gateway.webhooks import new_webhook, origin_of

router = api_router("webhooks")

_Id = r"^[A-Za-z0-9._-]+$"
After = Annotated[str | None, Query(max_length=300, pattern=_Id, description="`next_cursor` of the page before.")]
_CHANGED = problems(400, 404, 409, 413, 415, 422, 503)
_ASKED = problems(404, 409, 422, 503)


@router.post(
    "/v1/webhooks", status_code=201, dependencies=[READS_AND_WRITES], responses=problems(400, 409, 413, 415, 422, 503)
)
async def create_webhook(body: WebhookRequest, gateway: Here, caller: Who) -> NewWebhookView:
    """Have events of all runs of the tenant sent to a URL, those that happen from now on.

    422 `webhook_forbidden` for a host with an address that is not public, `invalid_webhook` for any other fault.
    """
    new = await new_webhook(gateway, body, caller)
    return webhook_with_secret(await run_in_threadpool(gateway.record.webhooks.create_webhook, new), new.secret)


@router.get("/v1/webhooks", dependencies=[READS], responses=problems(422, 503))
def list_webhooks(gateway: Here, cursor: After = None, limit: Limit = 100) -> Page[WebhookView]:
    """Webhooks of the tenant, newest first; those of single runs are not among them."""
    found = gateway.record.webhooks.webhooks(cursor, limit + 1)
    return Page(
        items=[webhook_view(one) for one in found[:limit]],
        next_cursor=found[limit - 1].id if len(found) > limit else None,
    )


@router.get("/v1/webhooks/{webhook_id}", dependencies=[READS], responses=problems(404, 503))
def show_webhook(webhook_id: str, gateway: Here) -> WebhookView:
    """Return a webhook, also one that a run was submitted with."""
    return webhook_view(gateway.record.webhooks.webhook(webhook_id))


@router.patch("/v1/webhooks/{webhook_id}", dependencies=[READS_AND_WRITES], responses=_CHANGED)
async def change_webhook(webhook_id: str, body: WebhookChange, gateway: Here, caller: Who) -> WebhookView:
    """Change URL, events or description, or disable and enable. What waits for one that is disabled is parked."""
    changed = await run_in_threadpool(
        gateway.record.webhooks.change_webhook,
        webhook_id,
        url=None if body.url is None else (body.url, await origin_of(gateway, body.url, caller)),
        events=None if body.events is None else known_types(body.events),
        description=body.description,
        active=body.active,
    )
    return webhook_view(changed)


@router.delete("/v1/webhooks/{webhook_id}", status_code=204, dependencies=[WRITES], responses=problems(404, 503))
def delete_webhook(webhook_id: str, gateway: Here) -> None:
    """Forget a webhook, and all that was or is to be sent to it."""
    gateway.record.webhooks.delete_webhook(webhook_id)


@router.post("/v1/webhooks/{webhook_id}/rotate", status_code=201, dependencies=[READS_AND_WRITES], responses=_CHANGED)
def rotate_webhook(
    webhook_id: str,
    gateway: Here,
    body: Annotated[WebhookRotation, Body()] = WebhookRotation(),  # noqa: B008
) -> NewWebhookView:
    """Sign with a new secret, and for `overlap` seconds with the old one as well."""
    secret = new_secret() if body.secret is None else known_secret(body.secret)
    return webhook_with_secret(gateway.record.webhooks.rotate_webhook(webhook_id, secret, overlap=body.overlap), secret)


@router.post("/v1/webhooks/{webhook_id}/test", status_code=202, dependencies=[READS_AND_WRITES], responses=_ASKED)
def test_webhook(webhook_id: str, gateway: Here) -> DeliveryView:
    """Have a message of the type `webhook.test` sent, which tells of no event; its delivery tells what came of it.

    409 `webhook_disabled`.
    """
    return delivery_view(gateway.record.webhooks.test_webhook(webhook_id))


@router.post("/v1/webhooks/{webhook_id}/replay", status_code=202, dependencies=[READS_AND_WRITES], responses=_ASKED)
def replay_deliveries(webhook_id: str, gateway: Here) -> ReplayView:
    """Have all parked deliveries sent again, each under its id; 409 `webhook_disabled`."""
    return ReplayView(replayed=gateway.record.webhooks.replay_parked(webhook_id))


@router.get("/v1/webhooks/{webhook_id}/deliveries", dependencies=[READS], responses=problems(404, 422, 503))
def list_deliveries(
    webhook_id: str,
    gateway: Here,
    state: DeliveryStatus | None = None,
    cursor: After = None,
    limit: Limit = 50,
) -> Page[DeliveryView]:
    """List what was, or is to be, sent to a webhook, newest first."""
    gateway.record.webhooks.webhook(webhook_id)
    after = None if cursor is None else ListPlace.of_cursor(cursor)
    found = gateway.record.webhooks.deliveries(webhook_id=webhook_id, state=state, after=after, limit=limit + 1)
    return _page(found, limit)


@router.post(
    "/v1/webhooks/{webhook_id}/deliveries/{delivery_id}/replay",
    status_code=202,
    dependencies=[READS_AND_WRITES],
    responses=_ASKED,
)
def replay_delivery(webhook_id: str, delivery_id: str, gateway: Here) -> DeliveryView:
    """Have one delivery sent again, under its id; 409 `delivery_pending`, `webhook_disabled`."""
    return delivery_view(gateway.record.webhooks.replay_delivery(webhook_id, delivery_id))


@router.get("/v1/runs/{run_id}/deliveries", dependencies=[READS], responses=problems(404, 422, 503))
def list_run_deliveries(run: ExistingRun, gateway: Here, cursor: After = None, limit: Limit = 50) -> Page[DeliveryView]:
    """List what was, or is to be, sent of a run's events, to all webhooks, newest first."""
    after = None if cursor is None else ListPlace.of_cursor(cursor)
    return _page(gateway.record.webhooks.deliveries(run_id=run.id, after=after, limit=limit + 1), limit)


def _page(found: list[DeliveryRecord], limit: int) -> Page[DeliveryView]:
    return Page(
        items=[delivery_view(one) for one in found[:limit]],
        next_cursor=place_of(found[limit - 1]).cursor if len(found) > limit else None,
    )
