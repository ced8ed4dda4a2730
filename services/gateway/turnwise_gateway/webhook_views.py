"""The responses about webhooks: the record in the words of the API."""

from __future__ import annotations

from turnwise.api.webhooks import DeliveryView, NewWebhookView, WebhookView
from turnwise.base.times import when, when_known
from turnwise.record.webhooks.records import DeliveryRecord, WebhookRecord


def webhook_view(webhook: WebhookRecord) -> WebhookView:
    """A receiver, without its secret."""
    return WebhookView.model_validate(_fields(webhook))


def webhook_with_secret(webhook: WebhookRecord, secret: str) -> NewWebhookView:
    """A receiver with the secret that is shown this once."""
    return NewWebhookView.model_validate(_fields(webhook) | {"secret": secret})


def delivery_view(one: DeliveryRecord) -> DeliveryView:
    """A message to a receiver, and what came of it."""
    plain = ("id", "seq", "type", "state", "attempts", "status_code", "error", "response", "body")
    return DeliveryView(
        **{name: getattr(one, name) for name in plain},
        webhook=one.webhook_id,
        run=one.run_id,
        created_at=when(one.created_at),
        attempted_at=when_known(one.attempted_at),
        next_attempt_at=when_known(one.due_at),
        ended_at=when_known(one.ended_at),
    )


def _fields(webhook: WebhookRecord) -> dict[str, object]:
    plain = ("id", "url", "events", "description", "disabled_reason", "created_by", "pending", "parked")
    return {
        **{name: getattr(webhook, name) for name in plain},
        "run": webhook.run_id,
        "active": webhook.disabled_at is None,
        "disabled_at": when_known(webhook.disabled_at),
        "previous_secret_until": when_known(webhook.previous_until),
        "created_at": when(webhook.created_at),
    }
