"""The role of whoever works on the database itself with a command: whole runs read out, and old ones deleted."""

from __future__ import annotations

from turnwise.record.batches.batch_purging import BatchPurges
from turnwise.record.past.export import Exports
from turnwise.record.runs.queries import RunLists
from turnwise.record.tenants.reach import EVERY_TENANT
from turnwise.record.transaction.core import Core
from turnwise.record.upkeep.purging import Purges


class ArchivistRole(RunLists, Exports, Purges, BatchPurges):
    """Finds, exports and deletes runs of all tenants."""

    def __init__(self, core: Core) -> None:
        super().__init__(core, EVERY_TENANT)
