"""Webhooks. See the page about webhooks for what a receiver gets, and how it checks the signature."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from turnwise.api.pages import Page
from turnwise.api.webhooks import DeliveryView, NewWebhookView, ReplayView, WebhookView
from turnwise.base.json_value import given
from turnwise.client.request import Request, model, nothing, path_of

State = Literal["pending", "delivered", "parked"]


def create_webhook(
    url: str,
    *,
    events: Sequence[str] | None = None,
    description: str | None = None,
    secret: str | None = None,
    idempotency_key: str | None = None,
) -> Request[NewWebhookView]:
    """Have events of all runs of the tenant sent to a URL; only this answer has the `secret`.

    `events` are types such as "run.completed", groups such as "run.*", or "*"; by default those that end a run, and
    those at which a person has to act. A secret is made unless one is given.
    """
    body = given(url=url, events=None if events is None else list(events), description=description, secret=secret)
    return Request(
        method="POST", path=path_of("webhooks"), read=model(NewWebhookView), body=body, idempotency_key=idempotency_key
    )


def webhooks(*, cursor: str | None = None, limit: int = 100) -> Request[Page[WebhookView]]:
    """Return a page of the tenant's webhooks, newest first; those of single runs are not among them."""
    params = given(cursor=cursor, limit=limit)
    return Request(method="GET", path=path_of("webhooks"), read=model(Page[WebhookView]), params=params)


def webhook(webhook_id: str) -> Request[WebhookView]:
    """Return a webhook, also one that a run was submitted with."""
    return Request(method="GET", path=path_of("webhooks", webhook_id), read=model(WebhookView))


def change_webhook(
    webhook_id: str,
    *,
    url: str | None = None,
    events: Sequence[str] | None = None,
    description: str | None = None,
    active: bool | None = None,
    idempotency_key: str | None = None,
) -> Request[WebhookView]:
    """Change what is given of a webhook. One that is disabled parks what waits for it."""
    events = None if events is None else list(events)
    body = given(url=url, events=events, description=description, active=active)
    path = path_of("webhooks", webhook_id)
    return Request(method="PATCH", path=path, read=model(WebhookView), body=body, idempotency_key=idempotency_key)


def delete_webhook(webhook_id: str) -> Request[None]:
    """Forget a webhook, and all that was or is to be sent to it."""
    return Request(method="DELETE", path=path_of("webhooks", webhook_id), read=nothing)


def rotate_webhook(
    webhook_id: str, *, overlap: float = 86_400.0, secret: str | None = None, idempotency_key: str | None = None
) -> Request[NewWebhookView]:
    """Sign with a new secret, and for `overlap` seconds with the old one as well. Returns it with its `secret`."""
    body = given(overlap=overlap, secret=secret)
    path = path_of("webhooks", webhook_id, "rotate")
    return Request(method="POST", path=path, read=model(NewWebhookView), body=body, idempotency_key=idempotency_key)


def test_webhook(webhook_id: str, *, idempotency_key: str | None = None) -> Request[DeliveryView]:
    """Have a message of the type "webhook.test" sent, which tells of no event."""
    path = path_of("webhooks", webhook_id, "test")
    return Request(method="POST", path=path, read=model(DeliveryView), idempotency_key=idempotency_key)


def deliveries(
    webhook_id: str, *, state: State | None = None, cursor: str | None = None, limit: int = 50
) -> Request[Page[DeliveryView]]:
    """Return a page of what was, or is to be, sent to a webhook, newest first."""
    params = given(state=state, cursor=cursor, limit=limit)
    path = path_of("webhooks", webhook_id, "deliveries")
    return Request(method="GET", path=path, read=model(Page[DeliveryView]), params=params)


def run_deliveries(run_id: str, *, cursor: str | None = None, limit: int = 50) -> Request[Page[DeliveryView]]:
    """Return a page of the deliveries of a run's events, to all webhooks, newest first."""
    params = given(cursor=cursor, limit=limit)
    path = path_of("runs", run_id, "deliveries")
    return Request(method="GET", path=path, read=model(Page[DeliveryView]), params=params)


def replay_deliveries(webhook_id: str, *, idempotency_key: str | None = None) -> Request[ReplayView]:
    """Have all parked deliveries of a webhook sent again, each under its id."""
    path = path_of("webhooks", webhook_id, "replay")
    return Request(method="POST", path=path, read=model(ReplayView), idempotency_key=idempotency_key)


def replay_delivery(webhook_id: str, delivery_id: str, *, idempotency_key: str | None = None) -> Request[DeliveryView]:
    """Have one delivery sent again, under its id; `ConflictError` (`delivery_pending`) if it is being sent."""
    path = path_of("webhooks", webhook_id, "deliveries", delivery_id, "replay")
    return Request(method="POST", path=path, read=model(DeliveryView), idempotency_key=idempotency_key)
