"""Samples of the work of tenants: what was done since the sample before, and what is under way.

Coordinators take them between sweeps, so that no turn writes anything for them. Work that is done is read from what a
turn leaves anyway: events, ends of runs, and what `usage_days` and `runs.uncounted` have of a day.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from turnwise.record.asks.fleet import FREE
from turnwise.record.asks.parking import PARKED
from turnwise.record.budgets.usage_tally import uncounted_rows
from turnwise.record.database.access_schema import usage_days
from turnwise.record.database.columns import Document, money_total, now, word
from turnwise.record.database.sample_tables import sampled_usage, samples
from turnwise.record.database.schema import asks, events, runs
from turnwise.record.database.status_statements import status_in
from turnwise.record.states import FINISHED, UNFINISHED, AskStatus, RunStatus
from turnwise.record.transaction.part import RecordPart
from turnwise.record.values.records import Json

# The name of the row that has the sums of all tenants; no tenant is called so.
FLEET = ""
# A sample counts up to so many seconds ago: a transaction dates its events when it begins.
LAG = 2.0
# After a longer time without a sample nothing is counted of it.
MOST_SECONDS = 600.0

USAGE = ("calls", "unpriced_calls", "prompt_tokens", "cached_tokens", "completion_tokens")
COUNTS = ("turns", "deferrals", "ended", "failed", *USAGE, "cost_nano")
GAUGES = ("queued", "running", "waiting", "asking", "backlog", "in_flight")
_NANO = 1_000_000_000

_since = sa.bindparam("since", type_=sa.Double)
_until = sa.bindparam("until", type_=sa.Double)
_LAST = sa.select(samples.c.at, samples.c.until).where(samples.c.tenant == FLEET).order_by(samples.c.at.desc()).limit(1)


def _lately(event: str) -> sa.ScalarSelect[int]:
    """Count a run's events of a type in the time. It reads no event from before that but one, by the primary key."""
    old, new = events.alias(), events.alias()
    before = (
        sa.select(old.c.seq)
        .where(old.c.run_id == runs.c.id, old.c.at < _since)
        .order_by(old.c.seq.desc())
        .limit(1)
        .correlate(runs)
        .scalar_subquery()
    )
    return (
        sa.select(sa.func.count())
        .select_from(new)
        .where(
            new.c.run_id == runs.c.id,
            new.c.seq > sa.func.coalesce(before, 0),
            new.c.at >= _since,
            new.c.at < _until,
            new.c.at >= runs.c.created_at,  # a fork has the events of another run, which were counted there
            new.c.type == word(event),
        )
        .correlate(runs)
        .scalar_subquery()
    )


# Of a run at which nothing happened, the last event is all that is read.
_last_event = (
    sa.select(events.c.at)
    .where(events.c.run_id == runs.c.id, events.c.seq == runs.c.last_seq)
    .correlate(runs)
    .scalar_subquery()
)
_worked = sa.select(
    runs.c.tenant.label("tenant"), _lately("turn.taken").label("turns"), _lately("ask.deferred").label("deferrals")
).where(_last_event >= _since)
# Two conditions, so that each can use its partial index; one statement, so that a run that ends is in one of them.
_worked_lately = sa.union_all(
    _worked.where(status_in(runs.c.status, UNFINISHED)),
    _worked.where(runs.c.finished_at.is_not(None), runs.c.finished_at >= _since),
).subquery()
_WORK = sa.select(
    _worked_lately.c.tenant, sa.func.sum(_worked_lately.c.turns), sa.func.sum(_worked_lately.c.deferrals)
).group_by(_worked_lately.c.tenant)
_ENDED = (
    sa.select(runs.c.tenant, runs.c.status, sa.func.count())
    .where(runs.c.finished_at.is_not(None), runs.c.finished_at >= _since, runs.c.finished_at < _until)
    .group_by(runs.c.tenant, runs.c.status)
)
_ACTIVE = (
    sa.select(runs.c.tenant, runs.c.status, sa.func.count())
    .where(status_in(runs.c.status, UNFINISHED))
    .group_by(runs.c.tenant, runs.c.status)
)


def _by_tenant(
    column: sa.ColumnElement[str], name: str, *conditions: sa.ColumnElement[bool]
) -> sa.Select[str, str, int]:
    return sa.select(column, word(name), sa.func.count()).where(*conditions).group_by(column)


_LINES = (
    _by_tenant(runs.c.tenant, "backlog", runs.c.move_due_at <= now()),
    _by_tenant(asks.c.tenant, "backlog", FREE, asks.c.queue.is_not(None)),
    _by_tenant(asks.c.tenant, "in_flight", asks.c.status == word(AskStatus.LEASED), asks.c.queue.is_not(None)),
    _by_tenant(asks.c.tenant, "asking", asks.c.status == word(AskStatus.OPEN)),
    _by_tenant(asks.c.tenant, "asking", PARKED),
)
_first = sa.bindparam("first", type_=sa.Text)
# One statement, as for a tenant's usage: between two a run could come to rest, and be in neither or in both.
_USED = (
    sa.select(
        usage_days.c.tenant,
        usage_days.c.day,
        *(sa.func.sum(usage_days.c[name]) for name in USAGE),
        money_total(usage_days.c.cost),
        sa.cast(sa.null(), Document),
    )
    .where(usage_days.c.day >= _first)
    .group_by(usage_days.c.tenant, usage_days.c.day)
    .union_all(
        sa.select(
            runs.c.tenant,
            sa.cast(sa.null(), sa.Text),
            *(sa.cast(sa.null(), sa.BigInteger) for _ in USAGE),
            sa.cast(sa.null(), usage_days.c.cost.type),
            runs.c.uncounted,
        ).where(runs.c.status == word(RunStatus.RUNNING), runs.c.uncounted.is_not(None))
    )
)
_SAMPLED = sa.select(sampled_usage).where(sampled_usage.c.day >= _first)

_Sums = dict[tuple[str, str], dict[str, Any]]


class Sampling(RecordPart):
    """Takes samples, one for each stretch of time, whoever tries."""

    def take_sample(self, seconds: int) -> bool:
        """Take the sample of the present `seconds`; False if that was done before."""
        with self._database.read() as connection:
            until = self._database.now(connection) - LAG
            at = int(until // seconds) * seconds
            last = connection.execute(_LAST).first()
            if last is not None and last.at >= at:
                return False
            # Nothing is known of the time before the first sample, nor of one for which no coordinator worked.
            begins = last is None or until - last.until > MOST_SECONDS
            since = until - seconds if begins else last.until  # type: ignore[union-attr]  # that is `begins`
            found = _read(connection, since, until)
            used = _used(connection, until)
            known = _sampled(connection, until)
        counted = {place: sums if begins else _counted(known.get(place), sums) for place, sums in used.items()}
        if not begins:
            for (tenant, day), sums in counted.items():
                _add(found[tenant], _growth(known.get((tenant, day)), sums))
        rows = _rows(found, at, until, until - since)
        with self._database.begin() as connection:
            taken = self._database.insert(samples).on_conflict_do_nothing().returning(samples.c.at)
            if connection.execute(taken.values(rows[0])).first() is None:
                return False
            if rows[1:]:
                connection.execute(sa.insert(samples), rows[1:])
            self._keep(connection, counted, _first_day(until))
        return True

    def forget_old_samples(self, age: float) -> None:
        """Delete samples that were taken so many seconds ago."""
        with self._database.begin() as connection:
            connection.execute(sa.delete(samples).where(samples.c.at < now() - age))

    def _keep(self, connection: Connection, counted: _Sums, first: str) -> None:
        connection.execute(sa.delete(sampled_usage).where(sampled_usage.c.day < first))
        if counted:
            statement = self._database.insert(sampled_usage)
            changes = {name: statement.excluded[name] for name in (*USAGE, "cost")}
            statement = statement.on_conflict_do_update(index_elements=list(sampled_usage.primary_key), set_=changes)
            rows = [{"tenant": tenant, "day": day, **sums} for (tenant, day), sums in sorted(counted.items())]
            connection.execute(statement, rows)


def _read(connection: Connection, since: float, until: float) -> defaultdict[str, Counter[str]]:
    """Return the numbers of each tenant but for its usage."""
    found: defaultdict[str, Counter[str]] = defaultdict(Counter)
    given = {"since": since, "until": until}
    for tenant, turns, deferrals in connection.execute(_WORK, given):
        _add(found[tenant], {"turns": turns, "deferrals": deferrals})
    for tenant, status, number in connection.execute(_ENDED, given):
        if status in FINISHED:  # or it was retried
            _add(found[tenant], {"ended": number, "failed": number if status == RunStatus.FAILED else 0})
    for tenant, status, number in connection.execute(_ACTIVE):
        _add(found[tenant], {status: number})
    for statement in _LINES:
        for tenant, name, number in connection.execute(statement):
            _add(found[tenant], {name: number})
    return found


def _add(numbers: Counter[str], more: dict[str, Any]) -> None:
    for name, number in more.items():
        numbers[name] += int(number)


def _first_day(until: float) -> str:
    """The first day whose use may still grow: a run adds to a day at the latest when it comes to rest."""
    return (datetime.fromtimestamp(until, UTC) - timedelta(days=1)).date().isoformat()


def _used(connection: Connection, until: float) -> _Sums:
    """Return what each tenant has used so far of each day."""
    first = _first_day(until)
    sums: _Sums = defaultdict(lambda: dict.fromkeys(USAGE, 0) | {"cost": Decimal(0)})
    for tenant, day, *numbers, cost, uncounted in connection.execute(_USED, {"first": first}):
        if uncounted is None:
            _total(sums[tenant, day], [{**dict(zip(USAGE, numbers, strict=True)), "cost": cost}])
            continue
        for row in uncounted_rows(uncounted):
            if row["day"] >= first:
                _total(sums[tenant, row["day"]], [row])
    return sums


def _total(sums: dict[str, Any], rows: Iterable[Json]) -> None:
    for row in rows:
        for name in (*USAGE, "cost"):
            sums[name] += row[name]


def _sampled(connection: Connection, until: float) -> _Sums:
    found = connection.execute(_SAMPLED, {"first": _first_day(until)}).mappings()
    return {(row["tenant"], row["day"]): {name: row[name] for name in (*USAGE, "cost")} for row in found}


def _counted(known: dict[str, Any] | None, sums: dict[str, Any]) -> dict[str, Any]:
    """Return what is counted of a day with this sample: whole billionths of a dollar, and never less than before."""
    before = known or dict.fromkeys((*USAGE, "cost"), 0)
    made = {name: max(before[name], sums[name]) for name in USAGE}
    grown = max(0, int((sums["cost"] - before["cost"]) * _NANO))
    return made | {"cost": Decimal(before["cost"]) + Decimal(grown) / _NANO}


def _growth(known: dict[str, Any] | None, counted: dict[str, Any]) -> dict[str, int]:
    before = known or dict.fromkeys((*USAGE, "cost"), 0)
    grown = {name: counted[name] - before[name] for name in USAGE}
    return grown | {"cost_nano": int((counted["cost"] - before["cost"]) * _NANO)}


def _rows(found: dict[str, Counter[str]], at: int, until: float, seconds: float) -> Sequence[Json]:
    """Return the rows of a sample, that of all tenants first."""
    place = {"at": at, "until": until, "seconds": seconds}
    total = sum(found.values(), Counter[str]())
    named = [(FLEET, total), *((tenant, numbers) for tenant, numbers in sorted(found.items()) if any(numbers.values()))]
    return [
        {"tenant": tenant, **place} | {name: numbers[name] for name in (*COUNTS, *GAUGES)} for tenant, numbers in named
    ]
