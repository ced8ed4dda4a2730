"""The role of whoever watches an installation: numbers for gauges and for the doctor. It reads no run's content."""

from __future__ import annotations

from turnwise.record.asks.fleet import Processes, Queues
from turnwise.record.asks.pauses import PauseList
from turnwise.record.budgets.budget_gauges import Levels
from turnwise.record.provider_batches.lane import BatchLane
from turnwise.record.tenants.reach import EVERY_TENANT
from turnwise.record.transaction.core import Core
from turnwise.record.upkeep.ages import Ages
from turnwise.record.upkeep.checkup import Checkup
from turnwise.record.upkeep.gauges import Gauges
from turnwise.record.upkeep.purging import OldRuns
from turnwise.record.webhooks.outbox import OutboxLines


class MonitorRole(Gauges, Ages, Levels, Checkup, Queues, Processes, PauseList, OldRuns, OutboxLines, BatchLane):
    """Reads without locks, of all tenants together."""

    def __init__(self, core: Core) -> None:
        super().__init__(core, EVERY_TENANT)
