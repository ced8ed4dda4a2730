"""The role of a worker for batches of providers: it has them from its own (`WorkerRole.provider_batches`)."""

from __future__ import annotations

from turnwise.record.provider_batches.batches import ProviderBatches
from turnwise.record.provider_batches.results import ProviderBatchResults


class ProviderBatchRole(ProviderBatches, ProviderBatchResults):
    """Collected calls of all tenants: opened as batches, looked after and answered."""
