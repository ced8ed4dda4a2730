"""The whole record of runs, as services use it."""

from __future__ import annotations

from turnwise.record.asks.claims import Claims
from turnwise.record.asks.parking import ParkedAsks
from turnwise.record.asks.pauses import Pauses
from turnwise.record.asks.receipts import Receipts
from turnwise.record.asks.replies import Replies
from turnwise.record.asks.still_needed import Wanted
from turnwise.record.asks.sweep import Sweep
from turnwise.record.asks.unclaimed import Overlooked
from turnwise.record.asks.workers import Workers
from turnwise.record.budgets.budget_gauges import Levels
from turnwise.record.budgets.providers import Providers
from turnwise.record.budgets.usage import UsageBook
from turnwise.record.past.export import Exports
from turnwise.record.past.forking import Forks
from turnwise.record.past.retrying import Retries
from turnwise.record.runs.event_times import Times
from turnwise.record.runs.inbox import Inbox
from turnwise.record.runs.limits import RunLimits
from turnwise.record.runs.queries import Queries
from turnwise.record.runs.sessions import Sessions
from turnwise.record.runs.wait_facts import Situations
from turnwise.record.tenants.audit_log import AuditLog
from turnwise.record.tenants.keys import ApiKeys
from turnwise.record.tenants.tenants import Tenants
from turnwise.record.upkeep.ages import Ages
from turnwise.record.upkeep.checkup import Checkup, Inspection
from turnwise.record.upkeep.gauges import Gauges
from turnwise.record.upkeep.purging import Purges


class Store(
    Forks,
    Retries,
    RunLimits,
    Levels,
    Gauges,
    Ages,
    Sessions,
    Workers,
    Claims,
    Providers,
    Replies,
    Receipts,
    ParkedAsks,
    Inbox,
    Sweep,
    Queries,
    Times,
    Situations,
    Exports,
    Purges,
    Wanted,
    Overlooked,
    Pauses,
    Checkup,
    Inspection,
    ApiKeys,
    Tenants,
    AuditLog,
    UsageBook,
):
    """Everything that is done to the record; each part is a file of its own.

    Safe to share between threads, not across a fork. Every method raises `DatabaseUnavailableError` when the database
    does not answer, and then has changed nothing, or (a lost answer to the commit) everything.
    """
