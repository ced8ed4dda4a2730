"""Providers with their limits, what is used of them, and the asks that wait for room; read without locks."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import cast

import sqlalchemy as sa

from turnwise.models.limits.outage import Outage
from turnwise.models.limits.window import Caps, LimitKind, Window
from turnwise.record.database.budget_tables import provider_buckets, provider_calls
from turnwise.record.database.columns import word
from turnwise.record.database.schema import asks
from turnwise.record.states import AskStatus
from turnwise.record.transaction.part import RecordPart

# Runs that are named of those in line, the first ones.
MOST_RUNS = 10
_LOOKED_AT = 1_000

_BUCKETS = sa.select(provider_buckets).order_by(provider_buckets.c.model, provider_buckets.c.id)
_UNDER_WAY = (
    sa.select(provider_calls.c.bucket, sa.func.count())
    .select_from(provider_calls)
    .join(
        asks,
        sa.and_(
            asks.c.run_id == provider_calls.c.run_id,
            asks.c.id == provider_calls.c.ask_id,
            asks.c.token == provider_calls.c.token,
            asks.c.status == word(AskStatus.LEASED),
        ),
    )
    .group_by(provider_calls.c.bucket)
)
_in_line = sa.and_(asks.c.status == word(AskStatus.RUNNABLE), asks.c.bucket.is_not(None))
_LINES = (
    sa.select(asks.c.bucket, asks.c.tenant, sa.func.count(), sa.func.min(asks.c.created_at))
    .where(_in_line)
    .group_by(asks.c.bucket, asks.c.tenant)
)
_FIRST = (
    sa.select(asks.c.bucket, asks.c.run_id)
    .where(_in_line)
    .order_by(asks.c.priority.desc(), asks.c.created_at)
    .limit(_LOOKED_AT)
)


@dataclass(frozen=True, kw_only=True, slots=True)
class ProviderState:
    """A model at a server for one API key: its limits, what of them is taken, and who stands in line.

    No ask in line is claimed before `closed_until`, because of the limit `closed_for`; None, it is open. `waiting` is
    by tenant, `runs` are the first of those in line.
    """

    server: str
    model: str
    account: str
    caps: Caps
    used_requests: int
    used_tokens: int
    under_way: int
    closed_until: float | None
    closed_for: LimitKind | None
    waiting: Counter[str]
    oldest_age: float
    runs: tuple[str, ...]


class ProviderStates(RecordPart):
    """Reads the providers of the installation, and the asks within reach that wait for them."""

    def provider_states(self) -> list[ProviderState]:
        """Return the providers that have limits, do not answer, or are waited for."""
        conditions = self._reach.where(asks.c.tenant)
        waiting: defaultdict[str, Counter[str]] = defaultdict(Counter)
        since: dict[str, float] = {}
        first: defaultdict[str, list[str]] = defaultdict(list)
        with self._database.read() as connection:
            now = self._database.now(connection)
            buckets = connection.execute(_BUCKETS).all()
            under_way = {row[0]: row[1] for row in connection.execute(_UNDER_WAY)}
            for bucket, tenant, number, oldest in connection.execute(_LINES.where(*conditions)):
                waiting[bucket][tenant] = number
                since[bucket] = min(oldest, since.get(bucket, oldest))
            for bucket, run_id in connection.execute(_FIRST.where(*conditions)):
                first[bucket].append(run_id)
        found = [
            _state(
                row,
                now,
                under_way=under_way.get(row.id, 0),
                waiting=waiting[row.id],
                oldest_age=max(0.0, now - since.get(row.id, now)),
                runs=tuple(first[row.id][:MOST_RUNS]),
            )
            for row in buckets
        ]
        return [state for state in found if state.caps.any or state.closed_until is not None or state.waiting]


def _state(
    row: sa.Row[tuple[object, ...]],
    now: float,
    *,
    under_way: int,
    waiting: Counter[str],
    oldest_age: float,
    runs: tuple[str, ...],
) -> ProviderState:
    window, outage = Window.load(row.window), Outage.load(row.open_for)
    caps = window.caps(Caps(**row.caps))
    closed = max(row.open_at, window.closed_until)
    is_closed = closed > now or (outage is not None and outage.away)
    limit = "outage" if outage is not None and outage.away else row.open_for or "requests"
    return ProviderState(
        server=row.server,
        model=row.model,
        account=row.account,
        caps=caps,
        used_requests=window.used("requests", caps, now),
        used_tokens=window.used("tokens", caps, now),
        under_way=under_way,
        closed_until=max(closed, now) if is_closed else None,
        closed_for=cast("LimitKind", limit) if is_closed else None,
        waiting=waiting,
        oldest_age=oldest_age,
        runs=runs,
    )
