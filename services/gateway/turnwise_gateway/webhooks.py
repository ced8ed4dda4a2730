"""Receivers of webhooks as requests describe them, checked before anything is kept."""

from __future__ import annotations

from turnwise.api.webhooks import RunWebhookView
from turnwise.base.ids import new_id
from turnwise.record.tenants.caller import Caller
from turnwise.record.webhooks.events import DEFAULT_TYPES, known_types
from turnwise.record.webhooks.new_webhook import NewWebhook
from turnwise.record.webhooks.secrets import known_secret, new_secret
from turnwise_gateway.bodies import RunWebhook, WebhookRequest
from turnwise_gateway.gateway import Gateway


async def new_webhook(gateway: Gateway, body: RunWebhook, caller: Caller) -> NewWebhook:
    """The receiver that a body asks for; its host is looked up. Raises `InvalidWebhookError`."""
    return NewWebhook(
        id=new_id("hook"),
        events=DEFAULT_TYPES if body.events is None else known_types(body.events),
        secret=new_secret() if body.secret is None else known_secret(body.secret),
        url=body.url,
        origin=await origin_of(gateway, body.url, caller),
        description=body.description if isinstance(body, WebhookRequest) else "",
        created_by=caller.name,
    )


async def origin_of(gateway: Gateway, url: str, caller: Caller) -> str:
    """The origin of a URL whose host is looked up; raises `InvalidWebhookError`, `ForbiddenAddressError`."""
    return await gateway.host_look_ups.origin(gateway.webhook_rules, url, caller.tenant)


def told(webhook: NewWebhook | None) -> RunWebhookView | None:
    """The receiver of a run for the answer to its submission, the only one that has the secret."""
    if webhook is None:
        return None
    return RunWebhookView(id=webhook.id, url=webhook.url, events=list(webhook.events), secret=webhook.secret)
