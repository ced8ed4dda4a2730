"""Receivers of webhooks for tests, whose URLs no one checks."""

from __future__ import annotations

from typing import Any

from turnwise.base.ids import new_id
from turnwise.record.webhooks.new_webhook import NewWebhook
from turnwise.record.webhooks.secrets import new_secret

ENDS = ("run.completed", "run.failed", "run.cancelled")


def new_webhook(*events: str, **changes: Any) -> NewWebhook:
    """A receiver of these events, or of the ends of runs."""
    given: dict[str, Any] = {
        "id": new_id("hook"),
        "url": "https://example.com/hook",
        "origin": "https://example.com",
        "secret": new_secret(),
        "created_by": "test",
    }
    return NewWebhook(events=events or ENDS, **(given | changes))
