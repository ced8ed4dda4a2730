"""The role of a tenant: its runs and sessions, and nothing of another's."""

from __future__ import annotations

from turnwise.record.asks.fleet import Queues, QueueServers
from turnwise.record.asks.parking import ParkedAsks
from turnwise.record.budgets.usage import OwnUsage
from turnwise.record.past.forking import Forks
from turnwise.record.past.retrying import Retries
from turnwise.record.runs.event_times import RunTimes
from turnwise.record.runs.inbox import Inbox
from turnwise.record.runs.limits import RunLimits
from turnwise.record.runs.queries import Documents, RunContents, RunLists, RunLookup
from turnwise.record.runs.sessions import Sessions
from turnwise.record.runs.wait_facts import Situations


class TenantRole(
    Forks,
    Retries,
    RunLimits,
    Sessions,
    ParkedAsks,
    Inbox,
    OwnUsage,
    RunLookup,
    RunLists,
    RunContents,
    Documents,
    Situations,
    RunTimes,
    Queues,
    QueueServers,
):
    """The record as one tenant has it: whatever is another's is not there."""
