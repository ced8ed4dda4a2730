"""The role of a tenant for its batches: it has them from its own (`TenantRole.batches`)."""

from __future__ import annotations

from turnwise.record.batches.batch_changes import BatchChanges
from turnwise.record.batches.batch_feeding import BatchFeeding
from turnwise.record.batches.batch_queries import BatchLists


class BatchRole(BatchChanges, BatchFeeding, BatchLists):
    """The tenant's batches: opened, filled, fed, read and ended."""
