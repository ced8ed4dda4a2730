"""The whole record of runs, as services use it."""

from __future__ import annotations

from turnwise.runs.ages import Ages
from turnwise.runs.audit_log import AuditLog
from turnwise.runs.checkup import Checkup
from turnwise.runs.claims import Claims
from turnwise.runs.export import Exports
from turnwise.runs.forking import Forks
from turnwise.runs.gauges import Gauges
from turnwise.runs.inbox import Inbox
from turnwise.runs.inspection import Inspection
from turnwise.runs.keys import ApiKeys
from turnwise.runs.levels import Levels
from turnwise.runs.limits import RunLimits
from turnwise.runs.overlooked import Overlooked
from turnwise.runs.parking import ParkedAsks
from turnwise.runs.pauses import Pauses
from turnwise.runs.providers import Providers
from turnwise.runs.purging import Purges
from turnwise.runs.queries import Queries
from turnwise.runs.receipts import Receipts
from turnwise.runs.replies import Replies
from turnwise.runs.retrying import Retries
from turnwise.runs.sessions import Sessions
from turnwise.runs.situation import Situations
from turnwise.runs.sweep import Sweep
from turnwise.runs.tenants import Tenants
from turnwise.runs.times import Times
from turnwise.runs.usage import UsageBook
from turnwise.runs.wanted import Wanted
from turnwise.runs.workers import Workers


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
