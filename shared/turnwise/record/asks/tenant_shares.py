"""The tenant that is served next, where several have asks in a queue.

Each tenant has its own time in a queue, which continues by 1 / weight with each of its claims. The tenant whose time is
earliest comes first. One that comes back after a while begins at the queue's present time, so that nothing is saved up
for a flood. Priorities come before all that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import Connection

from turnwise.base.clock import Clock
from turnwise.record.asks.pause_conditions import PAUSED_TENANTS
from turnwise.record.database import driver
from turnwise.record.database.columns import ONE, word
from turnwise.record.database.database import Database
from turnwise.record.database.schema import asks, tenant_shares
from turnwise.record.states import AskStatus
from turnwise.record.transaction.run_transaction import RunTransaction

_queue = sa.bindparam("queue", type_=sa.Text)
_mine = (asks.c.queue == _queue, asks.c.status == word(AskStatus.RUNNABLE))
_first = sa.select(sa.func.min(asks.c.tenant).label("tenant")).where(*_mine).cte("tenants", recursive=True)
# One look into the index for each tenant, however many asks it has.
_next = sa.select(sa.func.min(asks.c.tenant)).where(*_mine, asks.c.tenant > _first.c.tenant).correlate(_first)
_tenants = _first.union_all(sa.select(_next.scalar_subquery()).where(_first.c.tenant.is_not(None)))
_SEVERAL = sa.select(
    sa.select(sa.func.min(asks.c.tenant)).where(*_mine).scalar_subquery(),
    sa.select(sa.func.max(asks.c.tenant)).where(*_mine).scalar_subquery(),
    sa.exists(PAUSED_TENANTS.with_only_columns(sa.literal(1))),
)
_PRESENT = sa.select(sa.func.max(tenant_shares.c.began)).where(tenant_shares.c.queue == _queue).scalar_subquery()
_QUEUES_TIME = sa.select(sa.func.coalesce(_PRESENT, 0.0))

# Seconds for which it is remembered whether a queue has asks of several tenants.
_TRUSTED = 1.0


@dataclass(frozen=True, kw_only=True, slots=True)
class TenantShare:
    """A tenant with asks that may be claimed: their highest priority, the age of the oldest of it, and its time."""

    tenant: str
    priority: int
    created_at: float
    begins: float


class _Waiting(NamedTuple):
    """The first and the last tenant, by name, with asks in a queue; `paused`: some tenant is."""

    first: str | None
    last: str | None
    paused: bool


class TenantShares:
    """The tenants with asks in each queue, as far as this process knows, and their weights."""

    def __init__(self, database: Database, clock: Clock, weights: Mapping[str, float]) -> None:
        self._database, self._clock, self._weights = database, clock, weights
        self._seen: dict[str, tuple[float, _Waiting]] = {}

    def has_several(self, connection: Connection, queue: str) -> bool:
        """Return whether more than one tenant has asks in the queue; looked up once a second.

        Also while a tenant is paused: a claim then skips all its asks at once, and not one by one.
        """
        waiting = self._waiting(connection, queue)
        return waiting.paused or waiting.first != waiting.last

    def _waiting(self, connection: Connection, queue: str) -> _Waiting:
        waiting = self._remembered(queue)
        if waiting is None:
            waiting = _Waiting(*driver.fetch(connection, _SEVERAL, {"queue": queue})[0])
            self._seen[queue] = (self._clock.monotonic(), waiting)
        return waiting

    def _remembered(self, queue: str) -> _Waiting | None:
        seen = self._seen.get(queue)
        return seen[1] if seen is not None and self._clock.monotonic() - seen[0] < _TRUSTED else None

    def served(self, connection: Connection, queue: str, share: TenantShare) -> None:
        """Let the tenant's time continue. Its row is locked until the transaction ends, so nothing is locked after
        it but the rows of the run that is served, and those that are locked last of all.
        """
        begins, step = share.begins, self._step(share.tenant)
        given = {"queue": queue, "tenant": share.tenant, "began": begins, "ends": begins + step}
        driver.run(connection, _served(self._database.is_postgres), [given])

    def count(self, transaction: RunTransaction, queue: str) -> None:
        """Let the time of the run's tenant continue while others wait: it is served without having been chosen.

        The time of the queue does not continue with it, so those who wait keep what they are owed for that.
        """
        tenant = transaction.run.tenant
        waiting = self._remembered(queue) or self._waiting(transaction.connection, queue)
        if waiting.first not in (None, tenant) or waiting.last not in (None, tenant):
            connection = transaction.connection
            present = driver.fetch(connection, _QUEUES_TIME, {"queue": queue})[0][0]
            given = {"queue": queue, "tenant": tenant, "began": present, "ends": present + self._step(tenant)}
            driver.run(connection, _carried(self._database.is_postgres), [given])

    def _step(self, tenant: str) -> float:
        return 1 / self._weights.get(tenant, 1.0)


@cache
def tenants_with(claimable: sa.ColumnElement[bool]) -> sa.Select[tuple[str, int, float, float, float]]:
    """The query for the tenants with asks to claim; `claimable` is what an ask has to be beside runnable."""
    best = (
        sa.select(asks.c.priority)
        .where(*_mine, asks.c.tenant == _tenants.c.tenant, claimable)
        .order_by(asks.c.priority.desc(), asks.c.created_at)
        .limit(ONE)
        .correlate(_tenants)
    )
    ends = (
        sa.select(tenant_shares.c.ends)
        .where(tenant_shares.c.queue == _queue, tenant_shares.c.tenant == _tenants.c.tenant)
        .correlate(_tenants)
    )
    return sa.select(
        _tenants.c.tenant,
        best.scalar_subquery(),
        best.with_only_columns(asks.c.created_at).scalar_subquery(),
        sa.func.coalesce(ends.scalar_subquery(), 0.0),
        sa.func.coalesce(_PRESENT, 0.0),
    ).where(_tenants.c.tenant.is_not(None), _tenants.c.tenant.not_in(PAUSED_TENANTS))


def least_served(connection: Connection, claimable: sa.ColumnElement[bool], queue: str) -> list[TenantShare]:
    """The tenants that have something to claim, the one that was served least for its weight first."""
    shares = [
        TenantShare(tenant=tenant, priority=priority, created_at=created_at, begins=max(ends, present))
        for tenant, priority, created_at, ends, present in driver.fetch(
            connection, tenants_with(claimable), {"queue": queue}
        )
        if priority is not None
    ]
    return sorted(shares, key=lambda share: (-share.priority, share.begins, share.created_at))


@cache
def _carried(is_postgres: bool) -> sa.Insert:
    statement = (postgresql if is_postgres else sqlite).insert(tenant_shares)
    mine, new = tenant_shares.c, statement.excluded
    begins = sa.case((mine.ends > new.began, mine.ends), else_=new.began)
    made: sa.Insert = statement.on_conflict_do_update(
        index_elements=[mine.queue, mine.tenant], set_={"ends": begins + (new.ends - new.began)}
    )
    return made


@cache
def _served(is_postgres: bool) -> sa.Insert:
    statement = (postgresql if is_postgres else sqlite).insert(tenant_shares)
    # Another claim may have let it continue since it was read.
    mine, new = tenant_shares.c, statement.excluded
    began = sa.case((mine.ends > new.began, mine.ends), else_=new.began)
    made: sa.Insert = statement.on_conflict_do_update(
        index_elements=[mine.queue, mine.tenant], set_={"began": began, "ends": began + (new.ends - new.began)}
    )
    return made
