"""The role of tests, the simulator and benchmarks: whatever is on record, of all tenants. No service has it."""

from __future__ import annotations

from turnwise.record.asks.fleet import Queues
from turnwise.record.past.export import Exports
from turnwise.record.runs.event_times import RunTimes
from turnwise.record.runs.history_queries import Histories
from turnwise.record.runs.queries import Documents, RunContents, RunLists, RunLookup
from turnwise.record.runs.wait_facts import Situations
from turnwise.record.tenants.reach import EVERY_TENANT
from turnwise.record.transaction.core import Core
from turnwise.record.upkeep.inspection import Inspection


class InspectorRole(
    Inspection, RunLookup, RunLists, RunContents, Documents, Histories, Situations, RunTimes, Exports, Queues
):
    """Reads everything, and changes nothing."""

    def __init__(self, core: Core) -> None:
        super().__init__(core, EVERY_TENANT)
