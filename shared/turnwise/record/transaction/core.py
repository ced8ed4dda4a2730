"""The things that all roles of one record share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from turnwise.base.clock import SYSTEM_CLOCK, Clock
from turnwise.record.asks.tenant_shares import TenantShares
from turnwise.record.database.database import Database
from turnwise.record.tenants.tenant import TenantLimits
from turnwise.record.transaction import journal
from turnwise.record.transaction.journal import News
from turnwise.record.values.records import RunRecord

AfterCommit = Callable[[RunRecord, Sequence[News]], None]


class Core:
    """A database and its leases.

    `after_commit` is called after a commit that wrote events, with the run as it is now and those of the events that an
    operator is told of. By default it writes their log lines.

    `clock` is that of the process, which its services share; what is recorded is timed by the database. Where asks of
    several tenants wait in a queue, each is served by its weight in `tenant_weights` (1 where it has none).
    """

    def __init__(
        self,
        database: Database,
        *,
        lease_seconds: float = 5.0,
        after_commit: AfterCommit = journal.tell,
        clock: Clock = SYSTEM_CLOCK,
        tenant_weights: Mapping[str, float] | None = None,
    ) -> None:
        self.database = database
        self.lease_seconds = lease_seconds
        self.after_commit = after_commit
        self.clock = clock
        self.tenant_shares = TenantShares(database, clock, tenant_weights or {})
        # By tenant: when they were read, by the process's clock, and what they were.
        self.known_limits: dict[str, tuple[float, TenantLimits]] = {}
