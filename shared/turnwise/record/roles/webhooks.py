"""The role of a tenant for its webhooks: it has them from its own (`TenantRole.webhooks`)."""

from __future__ import annotations

from turnwise.record.webhooks.deliveries import Deliveries


class WebhookRole(Deliveries):
    """The tenant's webhooks and their deliveries: made, changed, rotated, tried, read, replayed and removed."""
